//! One message and whom it is for: whoever asked, or the session's ears.

use std::sync::Arc;

use serde_json::value::RawValue;
use switchboard_protocol::RequestId;
use switchboard_protocol::frame::{Frame, NotificationFrame};
use switchboard_protocol::model::notification::{Progress, name};

use crate::error::{Error, excerpt};
use crate::http::answer::{decode, outcome};
use crate::legacy::Ears;
use crate::link::Said;

/// Sorts what comes on the stream of one request.
pub(super) struct Sorter {
    pub(super) id: RequestId,
    /// Takes what the server says of its own accord.
    pub(super) ears: Arc<Ears>,
}

impl Sorter {
    /// Reads one message; `None` if it is nothing for whoever asked.
    ///
    /// # Errors
    /// The error that the server answered with, or the rule that it broke.
    pub(super) fn read(&self, message: &[u8]) -> Result<Option<Said>, Error> {
        match decode(message)? {
            Frame::Response(response) => outcome(response, &self.id).map(Some),
            Frame::Notification(notification) => Ok(self.read_notification(notification)),
            request @ Frame::Request(_) => {
                self.ears.hear(request);
                Ok(None)
            }
        }
    }

    fn read_notification(&self, notification: NotificationFrame<'_>) -> Option<Said> {
        match &*notification.method {
            name::PROGRESS => progress(&notification)
                .filter(|progress| progress.progress_token.0 == self.id)
                .map(Said::Progress),
            name::MESSAGE => serde_json::from_str(params(&notification)).ok().map(Said::Log),
            _ => {
                self.ears.hear(Frame::Notification(notification));
                None
            }
        }
    }
}

pub(super) fn progress(notification: &NotificationFrame<'_>) -> Option<Progress> {
    serde_json::from_str(params(notification)).ok()
}

/// What comes where nobody waits for an answer: the server asks and announces.
pub(super) fn hear(ears: &Ears, message: &[u8]) {
    match Frame::decode(message) {
        Ok(frame) => ears.hear(frame),
        Err(refused) => {
            let why = excerpt(&refused.error.message);
            tracing::debug!(%why, "the server sent what is no message of this protocol; ignored");
        }
    }
}

fn params<'a>(notification: &NotificationFrame<'a>) -> &'a str {
    notification.params.map_or("{}", RawValue::get)
}
