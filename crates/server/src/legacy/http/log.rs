//! What one event stream says, numbered and kept for a while: a client whose connection broke asks for
//! what came after the last event that it has.
//!
//! A log has one writer, the task of an exchange or the standing stream itself, and at most one reader,
//! whoever took it up last. Where nobody reads, the writer goes on; where somebody reads slowly, it waits.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::budget::{BASE_BYTES, Budget};
use super::live::Live;

/// A writer waits while a reader that is there has more than this in front of it.
const AHEAD_BYTES: usize = 64 * 1024;

/// The bit of a stream's number that says that it belongs to no request.
pub(super) const STANDING: u64 = 1 << 63;

/// One event stream of one session.
pub(super) struct Log {
    /// Different from that of every other stream of this server.
    stream: u64,
    budget: Arc<Budget>,
    state: Mutex<State>,
}

struct State {
    /// Oldest first; the first of them has the number `first`. Numbers start with 1.
    kept: VecDeque<Bytes>,
    first: u64,
    /// The number that the reader gets next.
    next: u64,
    /// Bytes of what is kept, and of that part of it which the reader does not have.
    bytes: usize,
    unread: usize,
    /// Which reader it is, counted; earlier ones read nothing more.
    reader: u64,
    is_read: bool,
    /// Set once nothing more is said: the number of that end, among those of all streams.
    ended: Option<u64>,
    /// Gave way to others: cannot be taken up again.
    forgotten: bool,
    reading: Option<Waker>,
    writing: Option<Waker>,
    /// Of whoever wants to know when readers come and go.
    watching: Option<Waker>,
    /// Who is to be woken, once the lock is free: waking may drop a reader, which locks again.
    due: [Option<Waker>; 3],
}

/// An event that was kept: where it is in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    /// 0 stands for the beginning.
    pub(super) number: u64,
}

impl EventId {
    /// Whether it is of a stream that belongs to no request.
    pub(super) fn is_standing(self) -> bool {
        self.stream & STANDING != 0
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, number) = text.split_once('-')?;
        Some(Self { stream: u64::from_str_radix(stream, 16).ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.stream, self.number)
    }
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Event(EventId, Bytes),
    /// The stream has ended, or somebody else reads it now.
    End,
}

impl Log {
    pub(super) fn new(stream: u64, budget: &Arc<Budget>) -> Arc<Self> {
        budget.make_room(BASE_BYTES);
        budget.charge(BASE_BYTES);
        let state = State {
            kept: VecDeque::new(),
            first: 1,
            next: 1,
            bytes: 0,
            unread: 0,
            reader: 0,
            is_read: false,
            ended: None,
            forgotten: false,
            reading: None,
            writing: None,
            watching: None,
            due: [None, None, None],
        };
        Arc::new(Self { stream, budget: Arc::clone(budget), state: Mutex::new(state) })
    }

    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    // Nothing panics while it holds the lock, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let done = change(&mut state);
        let due = std::mem::take(&mut state.due);
        drop(state);
        due.into_iter().flatten().for_each(Waker::wake);
        done
    }

    /// Says something. A stream that has ended says nothing.
    pub(super) fn push(&self, message: Bytes) {
        self.budget.make_room(message.len());
        self.update(|state| {
            if state.ended.is_some() {
                return;
            }
            self.budget.charge(message.len());
            state.bytes += message.len();
            state.unread += message.len();
            state.kept.push_back(message);
            state.trim(&self.budget);
            state.wake_reader();
        });
    }

    /// Ready when the reader has room, or nobody reads.
    pub(super) fn poll_room(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.ended.is_some() || !state.is_read || state.unread <= AHEAD_BYTES {
            return Poll::Ready(());
        }
        state.writing = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Says nothing more; whether it might have.
    pub(super) fn end(self: &Arc<Self>) -> bool {
        self.end_in(Weak::new())
    }

    /// Says nothing more, and is kept by its session for a while.
    pub(super) fn end_kept(self: &Arc<Self>, live: &Arc<Live>) {
        self.end_in(Arc::downgrade(live));
    }

    fn end_in(self: &Arc<Self>, live: Weak<Live>) -> bool {
        let number = self.update(|state| {
            if state.ended.is_some() {
                return None;
            }
            state.wake_reader();
            state.wake_writer();
            state.ended = Some(self.budget.number_of_end());
            state.ended
        });
        if let Some(number) = number {
            self.budget.add_ended(number, (self, live));
        }
        number.is_some()
    }

    /// Keeps nothing but what a reader that is there has not got yet.
    pub(super) fn forget(&self) {
        self.update(|state| {
            if !std::mem::replace(&mut state.forgotten, true) {
                self.budget.release(BASE_BYTES);
            }
            state.drop_front(&self.budget, |state| !state.is_read || state.first < state.next);
        });
    }

    /// Ready when nobody reads it, with whoever was the last to do so.
    pub(super) fn poll_left(&self, cx: &mut Context<'_>) -> Poll<u64> {
        let mut state = self.lock();
        if !state.is_read {
            return Poll::Ready(state.reader);
        }
        state.watch(cx);
        Poll::Pending
    }

    /// Ready once somebody came to read after this one.
    pub(super) fn poll_taken_up(&self, left: u64, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.reader != left {
            return Poll::Ready(());
        }
        state.watch(cx);
        Poll::Pending
    }

    /// Takes the stream up after the event with this number, or after the last one that was read; whoever
    /// read it before gets nothing more. `None` if there is no such event.
    pub(super) fn attach(self: &Arc<Self>, after: Option<u64>) -> Option<Reader> {
        let reader = self.update(|state| {
            let end = state.first + state.kept.len() as u64;
            if state.forgotten || after.is_some_and(|after| after >= end) {
                return None;
            }
            state.reader += 1;
            state.is_read = true;
            state.next = after.map_or(state.next, |after| after + 1).clamp(state.first, end);
            state.unread = state.kept.iter().skip(state.read()).map(Bytes::len).sum();
            state.wake_reader();
            state.wake_writer();
            state.wake_watcher();
            Some(state.reader)
        })?;
        Some(Reader { log: Arc::clone(self), reader })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let state = self.lock();
        let base = if state.forgotten { 0 } else { BASE_BYTES };
        self.budget.release(base + state.bytes);
        if let Some(number) = state.ended {
            self.budget.remove_ended(number);
        }
    }
}

impl State {
    fn wake_reader(&mut self) {
        self.due[0] = self.reading.take();
    }

    fn wake_writer(&mut self) {
        self.due[1] = self.writing.take();
    }

    fn wake_watcher(&mut self) {
        self.due[2] = self.watching.take();
    }

    fn watch(&mut self, cx: &Context<'_>) {
        if !self.watching.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            self.watching = Some(cx.waker().clone());
        }
    }

    /// How many of those that are kept the reader has.
    fn read(&self) -> usize {
        usize::try_from(self.next - self.first).unwrap_or(usize::MAX)
    }

    /// Keeps to the budget: what was said goes first, then what a client that is not there missed, but
    /// never the last of it, which may be the answer.
    fn trim(&mut self, budget: &Budget) {
        self.drop_front(budget, |state| {
            let is_over = budget.is_over() || state.bytes > budget.share();
            is_over && (state.first < state.next || (!state.is_read && state.kept.len() > 1))
        });
    }

    fn drop_front(&mut self, budget: &Budget, goes: impl Fn(&Self) -> bool) {
        while !self.kept.is_empty() && goes(self) {
            let Some(message) = self.kept.pop_front() else { return };
            budget.release(message.len());
            self.bytes -= message.len();
            if self.first >= self.next {
                self.unread -= message.len();
                self.next = self.first + 1;
            }
            self.first += 1;
        }
    }
}

/// Reads a log until its end, or until another one does.
pub(super) struct Reader {
    log: Arc<Log>,
    reader: u64,
}

impl Reader {
    pub(super) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The last event that was read.
    pub(super) fn position(&self) -> EventId {
        EventId { stream: self.log.stream, number: self.log.lock().next - 1 }
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        self.log.update(|state| {
            if state.reader != self.reader {
                return Poll::Ready(Next::End);
            }
            let Some(message) = state.kept.get(state.read()).cloned() else {
                if state.ended.is_some() {
                    return Poll::Ready(Next::End);
                }
                state.reading = Some(cx.waker().clone());
                return Poll::Pending;
            };
            let id = EventId { stream: self.log.stream, number: state.next };
            state.next += 1;
            state.unread -= message.len();
            state.wake_writer();
            state.trim(&self.log.budget);
            Poll::Ready(Next::Event(id, message))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.log.update(|state| {
            if state.reader == self.reader {
                state.is_read = false;
                // It waits for nothing any more, and what it was part of would stay as long as the log.
                state.wake_reader();
                state.wake_writer();
                state.wake_watcher();
            }
        });
    }
}

#[cfg(test)]
mod tests;
