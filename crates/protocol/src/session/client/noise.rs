//! What a server says that is no message for anybody: counted, and the beginning of it kept.

use std::borrow::Cow;

/// Lines that are no JSON-RPC message, such as a banner on stdout.
#[derive(Debug)]
pub struct Noise {
    lines: u64,
    sample: Vec<u8>,
    limit: usize,
}

impl Noise {
    pub(super) fn new(limit: usize) -> Self {
        Self { lines: 0, sample: Vec::new(), limit }
    }

    /// The first lines tell most about a server that does not start, so those are the ones kept.
    pub(super) fn record(&mut self, line: &[u8]) {
        self.lines += 1;
        let room = self.limit.saturating_sub(self.sample.len());
        if room > 1 {
            if !self.sample.is_empty() {
                self.sample.push(b'\n');
            }
            self.sample.extend_from_slice(&line[..line.len().min(room - 1)]);
        }
    }

    /// How many such lines came.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The beginning of them, at most [`ClientLimits::noise_bytes`](super::ClientLimits) long.
    #[must_use]
    pub fn sample(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.sample)
    }
}

/// What was dropped, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Answers and notifications about exchanges that have ended.
    pub late: u64,
    /// Answers to requests that were never sent.
    pub foreign: u64,
    /// Progress under an unknown token, without one having been asked for, or that did not grow.
    pub progress: u64,
    /// Notifications that nobody asked for, or that cannot be read.
    pub unsolicited: u64,
    /// Requests from the server.
    pub requests: u64,
}
