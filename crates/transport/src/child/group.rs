//! Signals to a server and everything it has started.

/// A process group. On systems without groups it stands for nothing, and the process alone is
/// ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(u32);

#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
impl From<Signal> for rustix::process::Signal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Terminate => Self::TERM,
            Signal::Kill => Self::KILL,
        }
    }
}

impl Group {
    /// The group that this process leads.
    pub(super) fn led_by(id: u32) -> Self {
        Self(id)
    }

    /// Sends a signal to every process of the group; to none if none is left.
    #[cfg(unix)]
    pub(super) fn signal(self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // It fails only if nothing is left, which is what is wanted.
            let _ = rustix::process::kill_process_group(pid, signal.into());
        }
    }

    /// Whether a process of the group is left.
    #[cfg(unix)]
    pub(super) fn is_alive(self) -> bool {
        self.pid().is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
    }

    #[cfg(unix)]
    fn pid(self) -> Option<rustix::process::Pid> {
        // 0 and 1 would mean this process's own group, and everybody.
        i32::try_from(self.0).ok().filter(|id| *id > 1).and_then(rustix::process::Pid::from_raw)
    }

    #[cfg(not(unix))]
    pub(super) fn signal(self, signal: Signal) {
        tracing::debug!(group = self.0, ?signal, "no process groups on this system");
    }

    #[cfg(not(unix))]
    pub(super) fn is_alive(self) -> bool {
        false
    }
}
