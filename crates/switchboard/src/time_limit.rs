//! `--timeout`: how long a run may take, from the first connection to the answer.

use std::time::Duration;

use tokio::time::Instant;

use crate::failure::{Exit, Failure};

/// A moment at which a run ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit {
    at: Instant,
    after: Duration,
}

impl TimeLimit {
    /// The time starts now.
    pub(crate) fn new(after: Duration) -> Self {
        Self { at: Instant::now() + after, after }
    }

    /// How long the whole may take, and so any part of it.
    pub(crate) fn after(self) -> Duration {
        self.after
    }
}

/// The libraries' hints, which know no options.
pub(crate) fn in_options(hint: &str) -> String {
    hint.replace("allow more time", "allow more time with --timeout")
}

/// Waits until the limit is reached, for ever if there is none.
pub(crate) async fn reached(limit: Option<TimeLimit>) -> Failure {
    let Some(TimeLimit { at, after }) = limit else { return std::future::pending().await };
    tokio::time::sleep_until(at).await;
    Failure::new(
        Exit::Limit,
        format!("the time limit of {} s was reached", after.as_secs()),
        "allow more with --timeout, or see with -v what takes so long",
    )
}
