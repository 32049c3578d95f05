//! Reading one message of the server.

use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ClientSession, End, Event, ExchangeId, PeerFault, Pending};
use crate::frame::{Frame, FrameError, NotificationFrame, ResponseFrame, answers_in};
use crate::id::RequestId;
use crate::model::notification::{Cancelled, LoggingMessage, Progress, name};
use crate::model::subscription::SubscriptionMeta;

/// Who an id belongs to.
enum Owner {
    Open(ExchangeId),
    Ended,
    Foreign,
}

impl ClientSession {
    /// Takes one line of the server, without its line end. Empty lines are nothing.
    pub fn handle_message(&mut self, now: Instant, line: &str) {
        if line.bytes().all(|byte| byte.is_ascii_whitespace()) {
            return;
        }
        #[cfg(feature = "legacy")]
        if self.is_legacy() && self.handle_batch(now, line) {
            return;
        }
        self.handle_one(now, line);
    }

    pub(super) fn handle_one(&mut self, now: Instant, line: &str) {
        match Frame::decode_text(line) {
            Ok(Frame::Response(response)) => self.handle_response(response),
            Ok(Frame::Notification(notification)) => self.handle_notification(now, &notification),
            #[cfg(feature = "legacy")]
            Ok(Frame::Request(request)) if self.is_legacy() => self.handle_question(request),
            Ok(Frame::Request(request)) => {
                self.counters.requests += 1;
                self.fault(PeerFault::ServerRequest { method: request.method.into_owned() });
            }
            Err(error) => self.handle_refused(line, error),
        }
    }

    /// Takes a line that is not valid UTF-8. It is never repaired; but if it is plainly an answer,
    /// whoever waits for it learns what happened to it.
    pub fn handle_invalid_utf8(&mut self, line: &[u8]) {
        let message = "The server's message is not valid UTF-8";
        if !self.end_answers(line, message) {
            self.noise.record(line);
        }
        self.fault(PeerFault::Malformed(message.into()));
    }

    fn handle_response(&mut self, response: ResponseFrame<'_>) {
        let end = match response.outcome {
            Ok(result) => End::Result(result.to_owned()),
            Err(error) => End::Error(error),
        };
        let Some(id) = response.id else {
            return self.handle_unattributed(end);
        };
        match self.owner(&id) {
            Owner::Open(id) => {
                #[cfg(feature = "legacy")]
                self.handle_agreement(&end);
                self.end(id, end);
            }
            Owner::Ended => self.counters.late += 1,
            Owner::Foreign => {
                self.counters.foreign += 1;
                self.fault(PeerFault::ForeignAnswer { id });
            }
        }
    }

    /// The server could not read an id. If only one request is open, it was that one.
    fn handle_unattributed(&mut self, end: End) {
        let mut calls = self.pending.iter().filter(|(_, pending)| !pending.opening.listen);
        match (calls.next().map(|(id, _)| ExchangeId(*id)), calls.next(), end) {
            (Some(id), None, end) => self.end(id, end),
            (_, _, End::Error(error)) => self.fault(PeerFault::UnattributedError(error.to_string())),
            (_, _, End::Malformed(message)) => self.fault(PeerFault::Malformed(message)),
            _ => {}
        }
    }

    fn handle_notification(&mut self, now: Instant, notification: &NotificationFrame<'_>) {
        #[cfg(feature = "legacy")]
        if self.is_announcement(notification) {
            return self.handle_announcement(notification);
        }
        let Some(params) = notification.params else {
            self.counters.unsolicited += 1;
            return;
        };
        match notification.method.as_ref() {
            name::PROGRESS => self.handle_progress(now, params),
            name::MESSAGE => self.handle_log(params),
            name::CANCELLED => self.handle_cancelled(params),
            method => self.handle_subscription(method, params),
        }
    }

    fn handle_progress(&mut self, now: Instant, params: &RawValue) {
        let Ok(progress) = serde_json::from_str::<Progress>(params.get()) else {
            self.counters.progress += 1;
            return;
        };
        let id = match self.owner(&progress.progress_token.0) {
            Owner::Open(id) => id,
            Owner::Ended => {
                self.counters.late += 1;
                return;
            }
            Owner::Foreign => {
                self.counters.progress += 1;
                return;
            }
        };
        let Some(pending) = self.pending.get_mut(&id.0) else { return };
        if pending.opening.progress && pending.advance(now, progress.progress) {
            self.events.push_back(Event::Progress { id, progress });
        } else {
            self.counters.progress += 1;
        }
    }

    fn handle_log(&mut self, params: &RawValue) {
        let mut listeners = self.pending.iter().filter(|(_, pending)| pending.opening.log);
        let id = match (listeners.next(), listeners.next()) {
            (Some((id, _)), None) => Some(ExchangeId(*id)),
            _ => None,
        };
        match serde_json::from_str::<LoggingMessage>(params.get()) {
            Ok(message) => self.events.push_back(Event::Log { id, message }),
            Err(_) => self.counters.unsolicited += 1,
        }
    }

    /// A server cancels nothing but a subscription, which it tears down.
    fn handle_cancelled(&mut self, params: &RawValue) {
        let Ok(cancelled) = serde_json::from_str::<Cancelled>(params.get()) else {
            self.counters.unsolicited += 1;
            return;
        };
        match self.owner(&cancelled.request_id) {
            Owner::Open(id) if self.pending.get(&id.0).is_some_and(|pending| pending.opening.listen) => {
                self.end(id, End::TornDown(cancelled.reason));
            }
            Owner::Ended => self.counters.late += 1,
            Owner::Open(_) | Owner::Foreign => {
                self.counters.unsolicited += 1;
                self.fault(PeerFault::Cancelled { id: cancelled.request_id });
            }
        }
    }

    fn handle_subscription(&mut self, method: &str, params: &RawValue) {
        #[derive(Deserialize)]
        struct Subscribed {
            #[serde(rename = "_meta")]
            meta: SubscriptionMeta,
        }
        let Ok(Subscribed { meta }) = serde_json::from_str(params.get()) else {
            self.counters.unsolicited += 1;
            return;
        };
        match self.owner(&meta.subscription_id) {
            Owner::Open(id) if self.pending.get(&id.0).is_some_and(|pending| pending.opening.listen) => {
                let (method, params) = (method.to_owned(), params.to_owned());
                self.events.push_back(Event::Subscription { id, method, params });
            }
            Owner::Ended => self.counters.late += 1,
            Owner::Open(_) | Owner::Foreign => self.counters.unsolicited += 1,
        }
    }

    /// What is no message: a broken answer ends its exchange, anything else is noise.
    fn handle_refused(&mut self, line: &str, refused: FrameError) {
        let owner = refused.id.as_ref().map(|id| self.owner(id));
        let message = refused.error.message;
        match owner {
            // What names no method is no request of the server, whatever else it lacks.
            Some(Owner::Open(id)) if !refused.answerable || !line.contains("\"method\"") => {
                self.end(id, End::Malformed(message));
            }
            Some(Owner::Ended) if !refused.answerable => self.counters.late += 1,
            Some(_) => self.fault(PeerFault::Malformed(message)),
            None if self.end_answers(line.as_bytes(), &message) => {}
            // A log line may have an error, too, but only a message names the protocol.
            None if !refused.answerable && line.contains("\"jsonrpc\"") => {
                self.handle_unattributed(End::Malformed(message));
            }
            None => self.noise.record(line.as_bytes()),
        }
    }

    /// Ends every exchange whose answer stands in a text that is no message; says whether there was one.
    pub(super) fn end_answers(&mut self, text: &[u8], message: &str) -> bool {
        let mut found = false;
        for id in answers_in(text) {
            match self.owner(&id) {
                Owner::Open(id) => self.end(id, End::Malformed(message.to_owned())),
                Owner::Ended => self.counters.late += 1,
                Owner::Foreign => continue,
            }
            found = true;
        }
        found
    }

    fn owner(&self, id: &RequestId) -> Owner {
        // A string is never one of ours, even if it looks like a number: `1` and `"1"` are
        // different ids.
        let RequestId::Integer(number) = id else { return Owner::Foreign };
        match u64::try_from(*number) {
            Ok(number) if self.pending.contains_key(&number) => Owner::Open(ExchangeId(number)),
            Ok(number) if (1..=self.last_id).contains(&number) => Owner::Ended,
            _ => Owner::Foreign,
        }
    }

    pub(super) fn fault(&mut self, fault: PeerFault) {
        self.events.push_back(Event::Fault(fault));
    }
}

impl Pending {
    /// Takes a progress value; says whether it grew, as it must.
    fn advance(&mut self, now: Instant, progress: f64) -> bool {
        let grows = progress > self.progress;
        if grows {
            self.progress = progress;
            self.idle_deadline = self.opening.idle.and_then(|idle| now.checked_add(idle));
        }
        grows
    }
}
