//! What a server has started and what has left its group: daemons, and what was started by `setsid`.
//!
//! All of it is known by a variable that a process inherits, whoever its parent is now. A process that clears its
//! environment is not found, and only Linux lets one be read.

use std::hash::{BuildHasher as _, RandomState};

use super::group::Signal;

/// The variable of one server and of everything that it starts. Each server has a name of its own, and no value that
/// another could take over: what a server starts in turn bears the marks of both.
#[derive(Clone, Debug)]
pub(super) struct Mark(String);

impl Mark {
    /// One that nobody bears yet.
    pub(super) fn new() -> Self {
        // The hasher's random keys are random enough for a name.
        Self(format!("SWITCHBOARD_CHILD_{:016x}", RandomState::new().hash_one(std::process::id())))
    }

    /// The name of the variable.
    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Sends a signal to everything that bears it. Says whether there was anything.
    #[cfg(target_os = "linux")]
    pub(super) fn signal(&self, signal: Signal) -> bool {
        let found = self.bearers();
        for pid in &found {
            // It fails only if it is gone.
            let _ = rustix::process::kill_process(*pid, signal.into());
        }
        !found.is_empty()
    }

    /// Whether anything bears it.
    #[cfg(target_os = "linux")]
    pub(super) fn is_left(&self) -> bool {
        !self.bearers().is_empty()
    }

    /// The processes that bear it. Those of others cannot be read, and one that has ended has no environment any more.
    #[cfg(target_os = "linux")]
    fn bearers(&self) -> Vec<rustix::process::Pid> {
        let wanted = format!("{}=", self.0);
        let bears = |id: &i32| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(wanted.as_bytes()))
        };
        processes().filter(bears).filter_map(rustix::process::Pid::from_raw).collect()
    }

    /// Whether there is a process whose environment is empty: it may be one that is just being replaced by another
    /// program, and shows the mark a moment later.
    #[cfg(target_os = "linux")]
    pub(super) fn may_be_hidden() -> bool {
        let is_empty = |id: &i32| {
            let environment = std::fs::read(format!("/proc/{id}/environ"));
            // What has ended, and what belongs to the kernel, runs no program.
            environment.is_ok_and(|all| all.is_empty())
                && std::fs::read_link(format!("/proc/{id}/exe")).is_ok()
        };
        processes().any(|id| is_empty(&id))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn signal(&self, _: Signal) -> bool {
        false
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn may_be_hidden() -> bool {
        false
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_left(&self) -> bool {
        false
    }
}

/// The processes of this machine.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = i32> {
    let all = std::fs::read_dir("/proc").into_iter().flatten();
    all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_without_an_environment_may_be_hidden() {
        let mut bare = Command::new("cat").env_clear().stdin(Stdio::piped()).spawn().unwrap();
        assert!(Mark::may_be_hidden());
        drop(bare.stdin.take());
        bare.wait().unwrap();
    }
}
