//! Server processes that a client starts, talks to over their standard streams, and gets rid of
//! [spec: basic/transports/stdio, Shutdown].
//!
//! A server lives in a process group of its own together with everything it starts, and ends with
//! whoever holds its [`Child`]: stdin is closed, then the group gets SIGTERM, then SIGKILL, each
//! after a bounded wait. What has left the group ends then, too: on Linux, where it is known by a variable that it
//! inherits. The server is always reaped. Its stderr is read from the first moment on.
//!
//! If this process dies without a chance to do that (SIGKILL), a server that obeys the protocol
//! leaves at the end of its stdin. For those that do not there is a watcher: a `sh` that waits for
//! the end of a pipe which only this process holds, and then ends the group the same way, but within 2 s. (The
//! kernel's own means, the parent-death signal, needs unsafe code, reaches one process instead of a
//! group, and fires when the thread that started the child ends.) Where there is no `/bin/sh`, there
//! is no watcher, and a warning says so. A watcher that is killed is replaced.
//!
//! Where to look next: `supervise.rs` is the order of events at the end.

mod command;
mod error;
mod group;
mod resolve;
mod stderr;
mod strays;
mod supervise;
mod watcher;

use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

pub use command::ChildCommand;
pub use error::SpawnError;
use stderr::Tail;

/// How long each step of ending a server may take.
#[derive(Clone, Copy, Debug)]
pub struct Shutdown {
    /// From the end of its stdin to SIGTERM; 3 s by default.
    pub leave: Duration,
    /// From SIGTERM to SIGKILL; 2 s by default.
    pub terminate: Duration,
    /// From SIGKILL until it is given up; 2 s by default. Only the kernel can make it take longer.
    pub kill: Duration,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self {
            leave: Duration::from_secs(3),
            terminate: Duration::from_secs(2),
            kill: Duration::from_secs(2),
        }
    }
}

/// How far a server has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Running,
    /// The process that was started has ended; others of its group may be left. `None` if that
    /// could not be found out.
    Exited(Option<ExitStatus>),
    /// All that it wrote is read, too, as far as others did not hold its streams.
    Read(Option<ExitStatus>),
    /// Nothing of its group is left, as far as it could be ended.
    Gone(Option<ExitStatus>),
}

impl Stage {
    fn status(self) -> Option<ExitStatus> {
        match self {
            Self::Running => None,
            Self::Exited(status) | Self::Read(status) | Self::Gone(status) => status,
        }
    }
}

/// A server process. Dropping it ends the server, in the background.
#[derive(Debug)]
pub struct Child {
    id: u32,
    stage: watch::Receiver<Stage>,
    /// Set to ask the supervisor to end the server; dropping the sender asks, too.
    stop: watch::Sender<bool>,
    tail: Tail,
}

impl Child {
    /// The id of the process, which is also the id of its group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the process has ended, even if others still hold its streams. The status is
    /// `None` if the system did not tell.
    pub async fn exited(&self) -> Option<ExitStatus> {
        self.reach(|stage| *stage != Stage::Running).await
    }

    /// Waits until the process has ended and [`stderr`](Self::stderr) holds what it wrote last. Others that hold its
    /// streams are waited for half a second at most.
    pub async fn last_words(&self) -> Option<ExitStatus> {
        self.reach(|stage| matches!(stage, Stage::Read(_) | Stage::Gone(_))).await
    }

    /// The status of the process, if it has ended.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        self.stage.borrow().status()
    }

    /// Ends the server, gently first, and waits until nothing of its group is left. A server that
    /// was started by [`ChildCommand::connect`] has its stdin closed; for one from
    /// [`ChildCommand::spawn`], drop the writer before.
    pub async fn shutdown(&self) -> Option<ExitStatus> {
        self.stop.send_replace(true);
        self.reach(|stage| matches!(stage, Stage::Gone(_))).await
    }

    /// The end of what it wrote to stderr: for a person, when something failed. Text there is no
    /// sign of a failure by itself.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.tail.text()
    }

    /// When it last wrote to stderr: a sign of life, such as of a program that is being compiled.
    #[must_use]
    pub fn last_stderr(&self) -> Option<Instant> {
        self.tail.last()
    }

    async fn reach(&self, reached: impl FnMut(&Stage) -> bool) -> Option<ExitStatus> {
        let mut stage = self.stage.clone();
        // The supervisor is gone only with its runtime; then nothing more can be learned.
        match stage.wait_for(reached).await {
            Ok(stage) => stage.status(),
            Err(_) => None,
        }
    }
}
