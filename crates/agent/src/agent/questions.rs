//! Counts the questions of servers that are open, so that no time counts meanwhile.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use switchboard_client::{
    CreateMessage, CreateMessageResult, Elicit, ElicitResult, InputRequiredResult, ListRootsResult, Refused,
};
use tokio::sync::watch;

use crate::name::{CallId, ServerName};
use crate::questions::Questions;

/// Whoever answers, and how many questions they have before them.
pub(super) struct Counted {
    pub(super) questions: Arc<dyn Questions>,
    pub(super) open: watch::Sender<u32>,
}

/// A question that is open.
struct Open<'a>(&'a watch::Sender<u32>);

impl<'a> Open<'a> {
    fn new(open: &'a watch::Sender<u32>) -> Self {
        open.send_modify(|open| *open += 1);
        Self(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open = open.saturating_sub(1));
    }
}

impl Questions for Counted {
    fn elicit<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: Elicit,
    ) -> BoxFuture<'a, ElicitResult> {
        async move {
            let _open = Open::new(&self.open);
            self.questions.elicit(server, call, asked).await
        }
        .boxed()
    }

    fn sample<'a>(
        &'a self,
        server: &'a ServerName,
        call: Option<CallId>,
        asked: CreateMessage,
    ) -> BoxFuture<'a, Result<CreateMessageResult, Refused>> {
        async move {
            let _open = Open::new(&self.open);
            self.questions.sample(server, call, asked).await
        }
        .boxed()
    }

    fn roots<'a>(&'a self, server: &'a ServerName) -> BoxFuture<'a, ListRootsResult> {
        async move {
            let _open = Open::new(&self.open);
            self.questions.roots(server).await
        }
        .boxed()
    }

    fn input_required(&self, server: &ServerName, call: Option<CallId>, asked: &InputRequiredResult) {
        self.questions.input_required(server, call, asked);
    }

    fn kept_round(&self, call: CallId, goes_on: bool) -> Option<InputRequiredResult> {
        self.questions.kept_round(call, goes_on)
    }
}
