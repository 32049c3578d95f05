//! One exchange as its opener sees it: a stream of messages until the end.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::value::RawValue;
use switchboard_protocol::RequestId;
use switchboard_protocol::meta::MetaObject;
use switchboard_protocol::model::notification::{LoggingMessage, Progress};
use switchboard_protocol::session::{End, ExchangeId};

use super::mailbox::Mailbox;
use super::{Disconnected, PipeClient};

/// What a server says about an exchange.
#[derive(Debug)]
pub enum Message {
    /// It has come further.
    Progress(Progress),
    /// It logged something.
    Log(LoggingMessage),
    /// A message of a subscription: its acknowledgement, or a change.
    Subscription {
        /// The notification's method.
        method: String,
        /// Its parameters, as text.
        params: Box<RawValue>,
    },
    /// The reader was too slow, and this many notifications were dropped.
    Lagged {
        /// How many.
        missed: u64,
    },
    /// The end; nothing follows.
    Ended(End),
}

impl Message {
    /// Bytes of text; the fixed part counts nothing, because the number of messages is bounded too.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Progress(progress) => {
                length(progress.message.as_deref()) + meta_size(progress.meta.as_ref())
            }
            Self::Log(message) => {
                length(message.logger.as_deref())
                    + message.data.get().len()
                    + meta_size(message.meta.as_ref())
            }
            Self::Subscription { method, params } => method.len() + params.get().len(),
            Self::Lagged { .. } | Self::Ended(_) => 0,
        }
    }
}

fn length(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

/// Few messages carry metadata, so that writing it out to measure it is rare.
fn meta_size(meta: Option<&MetaObject>) -> usize {
    meta.and_then(|meta| serde_json::to_vec(meta).ok()).map_or(0, |text| text.len())
}

/// An exchange on a pipe: a stream of [`Message`]s whose last is [`Message::Ended`]. Dropping it
/// before that cancels the request.
pub struct PipeExchange {
    id: ExchangeId,
    mailbox: Arc<Mutex<Mailbox>>,
    client: PipeClient,
}

impl PipeExchange {
    pub(super) fn new(id: ExchangeId, mailbox: Arc<Mutex<Mailbox>>, client: PipeClient) -> Self {
        Self { id, mailbox, client }
    }

    /// The id on the wire, which is also the progress token and the subscription id.
    #[must_use]
    pub fn id(&self) -> RequestId {
        self.id.request_id()
    }

    /// The next message; `None` after the end.
    pub async fn next(&mut self) -> Option<Message> {
        std::future::poll_fn(|cx| self.poll_message(cx)).await
    }

    /// The next message, by polling.
    pub fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.lock().poll(cx)
    }

    /// Waits for the end and drops everything before it.
    pub async fn ended(mut self) -> End {
        loop {
            match self.next().await {
                Some(Message::Ended(end)) => return end,
                Some(_) => {}
                // Unreachable: the end comes exactly once, and it returns.
                None => return End::Malformed("The exchange had ended before".into()),
            }
        }
    }

    /// Ends the exchange and tells the server why. Dropping it says that nobody waits any more.
    pub fn cancel(self, reason: &str) {
        self.cancel_for(reason);
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn disconnected(&self) -> Option<Disconnected> {
        self.client.end()
    }

    /// The rule that the server broke last on this connection, if it broke any: whoever waits in vain wants to
    /// know.
    #[must_use]
    pub fn broken_rule(&self) -> Option<String> {
        self.client.handle.shared.lock().broken_rule.clone()
    }

    fn cancel_for(&self, reason: &str) {
        if self.lock().has_ended() {
            return;
        }
        let shared = &self.client.handle.shared;
        let mut state = shared.lock();
        state.session.cancel(self.id, reason);
        state.mailboxes.remove(&self.id);
        drop(state);
        shared.wake.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream for PipeExchange {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        self.poll_message(cx)
    }
}

impl Drop for PipeExchange {
    fn drop(&mut self) {
        self.cancel_for("The client does not wait for the answer any more");
    }
}

impl fmt::Debug for PipeExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PipeExchange").field("id", &self.id).finish_non_exhaustive()
    }
}
