//! A session over a pipe: a child process, or a server in this process.

use std::sync::Arc;
use std::time::Duration;

use switchboard_protocol::frame::{Frame, NotificationFrame, RequestFrame};
use switchboard_transport::{Unsolicited, UnsolicitedSink};

use super::{Ears, Over};
use crate::error::Error;
use crate::link::Opening;
use crate::pipe::{Connection, PipeLink, PipeStream};

/// How long a message without an answer may wait for a server that does not read.
const PATIENCE: Duration = Duration::from_secs(60);

/// The connection of one session over a pipe.
pub(crate) struct PipeCarrier {
    connection: Connection,
}

impl PipeCarrier {
    /// Opens the pipe, or takes the one that is open.
    pub(super) async fn begin(link: &PipeLink, ears: &Arc<Ears>) -> Result<Self, Error> {
        let connection = link.connection().await?;
        connection.client().enter_legacy(sink(ears));
        Ok(Self { connection })
    }

    pub(super) async fn open(&self, opening: &Opening<'_>) -> Result<PipeStream, Error> {
        self.connection.clone().open(opening).await
    }

    pub(super) async fn send(&self, message: &[u8]) -> Result<(), Error> {
        let sent = self.connection.client().send(PATIENCE, |out| {
            out.extend_from_slice(message);
            Ok(())
        });
        match sent.await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.connection.refused(error).await),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.connection.client().end().is_some()
    }

    pub(super) fn over(&self) -> Over {
        let end = self.connection.client().disconnected();
        Box::pin(async move { drop(end.await) })
    }
}

impl Drop for PipeCarrier {
    fn drop(&mut self) {
        self.connection.client().leave_legacy();
    }
}

fn sink(ears: &Arc<Ears>) -> UnsolicitedSink {
    let ears = Arc::clone(ears);
    Arc::new(move |said| {
        ears.hear(match &said {
            Unsolicited::Agreed(revision) => return ears.open(*revision),
            Unsolicited::Request { id, method, params } => Frame::Request(RequestFrame {
                id: id.clone(),
                method: method.into(),
                params: params.as_deref(),
            }),
            Unsolicited::Notification { method, params } => {
                Frame::Notification(NotificationFrame { method: method.into(), params: params.as_deref() })
            }
        });
    })
}
