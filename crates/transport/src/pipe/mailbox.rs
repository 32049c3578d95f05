//! What the server said about one exchange and its reader has not taken yet. Bounded: a reader that
//! is slow loses notifications, is told so, and never loses the end.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use switchboard_protocol::session::End;

use super::exchange::Message;

/// Bounds of what waits for the reader of one exchange.
#[derive(Clone, Copy, Debug)]
pub struct MailboxLimits {
    /// Notifications; 256 by default.
    pub messages: usize,
    /// Bytes of their texts; 1 MiB by default.
    pub bytes: usize,
}

impl Default for MailboxLimits {
    fn default() -> Self {
        Self { messages: 256, bytes: 1024 * 1024 }
    }
}

pub(super) struct Mailbox {
    limits: MailboxLimits,
    queue: VecDeque<Message>,
    bytes: usize,
    /// Notifications that found no room.
    missed: u64,
    end: Option<End>,
    over: bool,
    waker: Option<Waker>,
}

impl Mailbox {
    pub(super) fn new(limits: MailboxLimits) -> Self {
        Self { limits, queue: VecDeque::new(), bytes: 0, missed: 0, end: None, over: false, waker: None }
    }

    /// Takes a message in; gives the reader to wake, once no lock is held any more.
    pub(super) fn push(&mut self, message: Message) -> Option<Waker> {
        let size = message.size();
        let full = self.queue.len() >= self.limits.messages || self.bytes + size > self.limits.bytes;
        match (full, &message, self.queue.back_mut()) {
            (false, _, _) => {
                self.bytes += size;
                self.queue.push_back(message);
            }
            // Of several progress notifications in a row, only the newest says something.
            (true, Message::Progress(_), Some(newest @ Message::Progress(_))) if size <= newest.size() => {
                self.bytes = self.bytes - newest.size() + size;
                *newest = message;
            }
            (true, _, _) => self.missed += 1,
        }
        self.waker.take()
    }

    /// Takes the end in; gives the reader to wake.
    pub(super) fn end(&mut self, end: End) -> Option<Waker> {
        self.end.get_or_insert(end);
        self.waker.take()
    }

    /// Notifications in their order, then what is missing, then the end, then nothing.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        if let Some(message) = self.queue.pop_front() {
            self.bytes -= message.size();
            return Poll::Ready(Some(message));
        }
        if self.missed > 0 {
            return Poll::Ready(Some(Message::Lagged { missed: std::mem::take(&mut self.missed) }));
        }
        if let Some(end) = self.end.take() {
            self.over = true;
            return Poll::Ready(Some(Message::Ended(end)));
        }
        if self.over {
            return Poll::Ready(None);
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn has_ended(&self) -> bool {
        self.over || self.end.is_some()
    }
}
