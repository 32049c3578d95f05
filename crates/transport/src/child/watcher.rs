//! Ends a server's group when this process dies by any means.
//!
//! The watcher reads from a pipe whose other end only this process holds. A word on it means that
//! the group is gone and the watcher may leave; the end of the pipe without a word means that this
//! process is dead.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::Shutdown;

/// Waits, then takes the same steps as this process would have. `kill -s 0` finds out whether
/// anything is left, so that an id which was given to somebody else is not signalled.
#[cfg(unix)]
const SCRIPT: &str = r#"
trap '' HUP INT TERM
read -r word && exit 0
end() { sleep "$2"; kill -s 0 -- "-$1" 2>/dev/null || exit 0; kill -s "$3" -- "-$1" 2>/dev/null; }
end "$1" "$2" TERM
end "$1" "$3" KILL
"#;

#[derive(Debug)]
pub(super) struct Watcher(Child);

#[cfg(unix)]
pub(super) fn start(group: u32, shutdown: Shutdown) -> Option<Watcher> {
    // Whole seconds are all that every `sleep` understands.
    let seconds = |duration: std::time::Duration| duration.as_secs_f64().ceil().to_string();
    let started = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "server-watcher"])
        .args([group.to_string(), seconds(shutdown.leave), seconds(shutdown.terminate)])
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    match started {
        Ok(child) => Some(Watcher(child)),
        Err(error) => {
            tracing::warn!(%error, "no watcher: a server that ignores the end of its input may outlive a killed host");
            None
        }
    }
}

#[cfg(not(unix))]
pub(super) fn start(_group: u32, _shutdown: Shutdown) -> Option<Watcher> {
    None
}

impl Watcher {
    /// The group has been ended; the watcher leaves and is reaped.
    pub(super) async fn dismiss(self) {
        let Self(mut child) = self;
        if let Some(mut stdin) = child.stdin.take() {
            // If it is gone already there is nobody to tell.
            let _ = stdin.write_all(b"done\n").await;
        }
        let _ = child.wait().await;
    }
}
