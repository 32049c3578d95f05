//! What a handler says before its reply: progress, of which only the newest counts, and log messages,
//! of which the oldest give way.
//!
//! An outbox exists only for requests that asked for either. It is drained by `exchange.rs`; `ctx.rs`
//! writes into it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use switchboard_protocol::frame;
use switchboard_protocol::model::notification::{LoggingLevel, name};
use switchboard_protocol::{ProgressToken, RequestId};
use tokio::time::Instant;

use crate::limits::Limits;

/// The queue between a handler and its exchange.
#[derive(Debug)]
pub(crate) struct Outbox {
    token: Option<ProgressToken>,
    level: Option<LoggingLevel>,
    messages: usize,
    event_bytes: usize,
    interval: Duration,
    burst: u32,
    /// Whether progress may be told in words.
    #[cfg(feature = "legacy")]
    pub(crate) has_words: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The newest progress that is not sent yet.
    progress: Option<Step>,
    logs: VecDeque<Bytes>,
    /// How many log messages gave way since the last one was sent.
    lost: u64,
    /// The highest progress that was accepted.
    reached: Option<f64>,
    sent: u32,
    /// The step that reached its total is out: that one does not wait for the pace, once.
    ended: bool,
    last_sent: Option<Instant>,
    /// Set with the reply: nothing more is sent.
    closed: bool,
    waker: Option<Waker>,
}

#[derive(Debug)]
struct Step {
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

/// What the exchange gets from the outbox.
pub(crate) enum Next {
    /// Send this.
    Message(Bytes),
    /// Nothing before this moment.
    Later(Instant),
    /// Nothing.
    Empty,
}

impl Outbox {
    pub(crate) fn new(token: Option<ProgressToken>, level: Option<LoggingLevel>, limits: &Limits) -> Self {
        Self {
            token,
            level,
            messages: limits.outbox_messages.max(1),
            event_bytes: limits.event_bytes,
            interval: limits.progress_interval,
            burst: limits.progress_burst,
            #[cfg(feature = "legacy")]
            has_words: true,
            state: Mutex::default(),
        }
    }

    /// An outbox for the next round of the same request, whose progress goes on from here.
    #[cfg(feature = "legacy")]
    pub(crate) fn resume(&self) -> Self {
        let State { reached, sent, ended, last_sent, .. } = *self.lock();
        let state = State { reached, sent, ended, last_sent, ..State::default() };
        Self { token: self.token.clone(), state: Mutex::new(state), ..*self }
    }

    // Nothing in here panics while it holds the lock; a poisoned one is still sound.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a step of progress; whether there is something new to send.
    pub(crate) fn progress(&self, progress: f64, total: Option<f64>, message: Option<String>) -> bool {
        if self.token.is_none() || !progress.is_finite() {
            return false;
        }
        let mut state = self.lock();
        if state.closed || state.reached.is_some_and(|reached| progress <= reached) {
            return false;
        }
        state.reached = Some(progress);
        let total = total.filter(|total| total.is_finite());
        state.progress = Some(Step { progress, total, message });
        state.wake();
        true
    }

    /// Takes a log message; whether there is something new to send.
    pub(crate) fn log(&self, level: LoggingLevel, logger: Option<&str>, data: &impl Serialize) -> bool {
        if self.level.is_none_or(|wanted| level < wanted) {
            return false;
        }
        let Some(message) = self.encode_log(level, logger, data) else { return false };
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        if state.logs.len() >= self.messages {
            state.logs.pop_front();
            state.lost += 1;
        }
        state.logs.push_back(message);
        state.wake();
        true
    }

    fn encode_log(&self, level: LoggingLevel, logger: Option<&str>, data: &impl Serialize) -> Option<Bytes> {
        let message = encode(name::MESSAGE, &Log { level, logger, data })?;
        if message.len() <= self.event_bytes {
            return Some(message);
        }
        let note = format!("a log message of {} bytes was left out: it is too long", message.len());
        encode(name::MESSAGE, &Log { level, logger, data: &note })
    }

    /// The next message, as far as the pace allows; `last` ignores the pace.
    pub(crate) fn next(&self, last: bool) -> Next {
        let mut state = self.lock();
        if state.lost > 0 {
            let note = format!("{} log messages were left out: they came too fast", state.lost);
            state.lost = 0;
            let level = LoggingLevel::Warning;
            let message = encode(name::MESSAGE, &Log { level, logger: None, data: &note });
            // A client that wants only what is worse is not told.
            if let Some(message) = message.filter(|_| self.wants(level)) {
                return Next::Message(message);
            }
        }
        if let Some(message) = state.logs.pop_front() {
            return Next::Message(message);
        }
        let Some(step) = &state.progress else { return Next::Empty };
        let now = Instant::now();
        let due = match state.last_sent {
            Some(last_sent) if state.sent >= self.burst => last_sent + self.interval,
            _ => now,
        };
        let ends = !state.ended && step.total.is_some_and(|total| step.progress >= total);
        if due > now && !last && !ends {
            return Next::Later(due);
        }
        let Some(step) = state.progress.take() else { return Next::Empty };
        state.sent = state.sent.saturating_add(1);
        state.last_sent = Some(now);
        state.ended |= ends;
        drop(state);
        self.encode_progress(step).map_or(Next::Empty, Next::Message)
    }

    fn encode_progress(&self, step: Step) -> Option<Bytes> {
        let Step { progress, total, message } = step;
        let message = message.filter(|text| text.len() <= self.event_bytes / 2);
        #[cfg(feature = "legacy")]
        let message = message.filter(|_| self.has_words);
        let progress_token = self.token.as_ref()?;
        encode(name::PROGRESS, &Progress { progress_token: &progress_token.0, progress, total, message })
    }

    /// Whom to wake when something arrives that was not written during a poll.
    pub(crate) fn register(&self, waker: &Waker) {
        let mut state = self.lock();
        if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            state.waker = Some(waker.clone());
        }
    }

    /// Refuses whatever comes from now on.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waker = None;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Whether a message of this level would be sent.
    pub(crate) fn wants(&self, level: LoggingLevel) -> bool {
        self.level.is_some_and(|wanted| level >= wanted)
    }
}

impl State {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

#[derive(Serialize)]
struct Log<'a, D> {
    level: LoggingLevel,
    #[serde(skip_serializing_if = "Option::is_none")]
    logger: Option<&'a str>,
    data: &'a D,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    progress_token: &'a RequestId,
    progress: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

fn encode(method: &str, params: &impl Serialize) -> Option<Bytes> {
    let mut out = Vec::with_capacity(160);
    match frame::encode_notification(&mut out, method, Some(params)) {
        Ok(()) => Some(out.into()),
        Err(fault) => {
            tracing::warn!(%fault, "a notification does not serialise and is left out");
            None
        }
    }
}
