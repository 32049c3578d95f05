//! Streams that are written while the test runs, and replies that write on one.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{Reply, Then, with_id};

/// The writing end of a stream that is held open. The stream ends when it is told to.
#[derive(Clone, Debug)]
pub struct Live(UnboundedSender<Piece>);

#[derive(Debug)]
pub(super) enum Piece {
    Text(String),
    End,
}

/// The reading end. Whichever connection asks first takes it.
#[derive(Clone, Debug)]
pub(super) struct Source(Arc<Mutex<Option<UnboundedReceiver<Piece>>>>);

impl Source {
    pub(super) fn take(&self) -> Option<UnboundedReceiver<Piece>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Live {
    /// Writes text. What is written before a client has come is kept for it.
    pub fn text(&self, text: impl Into<String>) {
        // A client that has left hears nothing.
        let _ = self.0.send(Piece::Text(text.into()));
    }

    /// Writes one message as an event.
    pub fn event(&self, message: &Value) {
        self.text(format!("data: {message}\n\n"));
    }

    /// Ends the stream.
    pub fn end(&self) {
        let _ = self.0.send(Piece::End);
    }
}

impl Reply {
    /// An event stream that begins with this text and goes on as the test says.
    #[must_use]
    pub fn live(text: &str) -> (Self, Live) {
        let (tx, rx) = unbounded_channel();
        let mut reply = Self::stream(text);
        reply.then = Then::Live(Source(Arc::new(Mutex::new(Some(rx)))));
        (reply, Live(tx))
    }

    /// When this reply is given, `text` is written on a stream, too; `$id` in it is the id of the request
    /// that this reply answers.
    #[must_use]
    pub fn and_on(mut self, stream: &Live, text: impl Into<String>) -> Self {
        self.also.push((stream.clone(), text.into()));
        self
    }

    /// 202, and the message as an event on another stream, as HTTP+SSE does it.
    #[must_use]
    pub fn elsewhere(stream: &Live, message: &Value) -> Self {
        Self::http(202, "", "").and_on(stream, format!("data: {}\n\n", with_id(message)))
    }
}
