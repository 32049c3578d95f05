//! A connection in a session of the legacy era: the server asks and announces, this side answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::session::Opening;
use switchboard_protocol::{RequestId, Revision};

use super::{Disconnected, OpenError, PipeClient};

/// What a server says that belongs to no exchange.
#[derive(Debug)]
pub enum Unsolicited {
    /// Its answer to the handshake names this revision: what comes after this is said in a session.
    Agreed(Revision),
    /// It wants an answer under this id.
    Request {
        /// The server's id.
        id: RequestId,
        /// The method.
        method: String,
        /// The parameters, as text.
        params: Option<Box<RawValue>>,
    },
    /// It wants none.
    Notification {
        /// The method.
        method: String,
        /// The parameters, as text.
        params: Option<Box<RawValue>>,
    },
}

/// Takes what a server says of its own accord. It is called from the task that reads, so it must not
/// block, and it decides how much may wait.
pub type UnsolicitedSink = Arc<dyn Fn(Unsolicited) + Send + Sync>;

impl PipeClient {
    /// A handshake follows: from now on the server may ask and announce, and `sink` takes it.
    pub fn enter_legacy(&self, sink: UnsolicitedSink) {
        let mut state = self.handle.shared.lock();
        state.session.enter_legacy();
        state.unsolicited = Some(sink);
    }

    /// No handshake was made after all: a server that asks breaks a rule again.
    pub fn leave_legacy(&self) {
        let mut state = self.handle.shared.lock();
        state.session.leave_legacy();
        state.unsolicited = None;
    }

    /// Sends a message that gets no answer. Waits while too much is unsent, up to `patience`.
    ///
    /// # Errors
    /// See [`OpenError`]; nothing was sent.
    pub async fn send(
        &self,
        patience: Duration,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>,
    ) -> Result<(), OpenError> {
        self.wait_for_room(Opening { total: Some(patience), ..Opening::default() }).await?;
        let shared = &self.handle.shared;
        {
            let mut state = shared.lock();
            if state.end.is_some() || state.closing {
                let end = state.end.clone().unwrap_or(Disconnected::Closed);
                return Err(OpenError::Disconnected(end));
            }
            state.session.send(encode)?;
        }
        shared.wake.notify_one();
        Ok(())
    }
}
