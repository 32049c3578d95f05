//! Ends a server's group, and what has left it, when this process dies by any means.
//!
//! The watcher reads from a pipe whose other end only this process holds. A word on it means that
//! the group is gone and the watcher may leave; the end of the pipe without a word means that this
//! process is dead.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::Shutdown;
use super::strays::Mark;

/// How long a server may go on after the end of its stdin, and after SIGTERM, once this process is dead. Nobody waits for
/// its good manners any more: 2 s later nothing of it is left.
#[cfg(unix)]
const STEPS: (Duration, Duration) = (Duration::from_millis(400), Duration::from_millis(700));
/// Between the two SIGKILLs.
#[cfg(unix)]
const LAST: Duration = Duration::from_millis(100);
/// What is left of the 2 s is for what the steps themselves take.
#[cfg(unix)]
const _: () = assert!(STEPS.0.as_millis() + STEPS.1.as_millis() + LAST.as_millis() <= 1200);

/// How long each step waits: never longer than this process would have.
#[cfg(unix)]
fn steps(shutdown: Shutdown) -> (Duration, Duration) {
    (shutdown.leave.min(STEPS.0), shutdown.terminate.min(STEPS.1))
}

/// Waits, then takes the same steps as this process would have. `kill -s 0` finds out whether
/// anything of the group is left, so that an id which was given to somebody else is not signalled. What has left the
/// group is known by its mark, as in `strays.rs`. A `sleep` that knows no fractions sleeps a second before SIGTERM, and
/// none after it. The second SIGKILL is for what was being started during the first.
#[cfg(unix)]
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r word && exit 0
group=$1 leave=$2 terminate=$3 last=$4 mark=$5
end() {
    kill -s 0 -- "-${group:-1}" 2>/dev/null || group=
    [ -z "$group" ] || kill -s "$1" -- "-$group" 2>/dev/null
    strays=$(grep -lsF -e "$mark=" /proc/[0-9]*/environ 2>/dev/null)
    for stray in $strays; do
        stray=${stray#/proc/}
        kill -s "$1" "${stray%/environ}" 2>/dev/null
    done
    [ -n "$group$strays" ] || exit 0
}
sleep "$leave" 2>/dev/null || sleep 1
end TERM
sleep "$terminate" 2>/dev/null
end KILL
sleep "$last" 2>/dev/null
end KILL
"#;

#[derive(Debug)]
pub(super) struct Watcher {
    process: Child,
    /// Apart from the process, since whoever waits for that would close it.
    pipe: Option<ChildStdin>,
}

#[cfg(unix)]
pub(super) fn start((group, mark): (u32, &Mark), shutdown: Shutdown) -> Option<Watcher> {
    let seconds = |duration: Duration| duration.as_secs_f64().to_string();
    let (leave, terminate) = steps(shutdown);
    let started = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "server-watcher"])
        .args([group.to_string(), seconds(leave), seconds(terminate), seconds(LAST), mark.name().to_owned()])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(mut process) => {
            let pipe = process.stdin.take();
            Some(Watcher { process, pipe })
        }
        Err(error) => {
            tracing::warn!(%error, "no watcher: a server that ignores the end of its input may outlive a killed host");
            None
        }
    }
}

#[cfg(not(unix))]
pub(super) fn start(_: (u32, &Mark), _shutdown: Shutdown) -> Option<Watcher> {
    None
}

impl Watcher {
    /// Waits until the watcher has ended though nobody dismissed it.
    pub(super) async fn ended(&mut self) {
        // One of which nothing can be learned is as good as gone.
        let _ = self.process.wait().await;
    }

    /// The group has been ended; the watcher leaves and is reaped.
    pub(super) async fn dismiss(self) {
        let Self { mut process, pipe } = self;
        if let Some(mut pipe) = pipe {
            // If it is gone already there is nobody to tell.
            let _ = pipe.write_all(b"done\n").await;
        }
        let _ = process.wait().await;
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_short_however_patient_this_process_would_be() {
        let times = |leave, terminate| Shutdown { leave, terminate, ..Shutdown::default() };
        assert_eq!(steps(times(Duration::MAX, Duration::MAX)), STEPS);
        assert_eq!(steps(times(Duration::ZERO, STEPS.0)), (Duration::ZERO, STEPS.0));
    }
}
