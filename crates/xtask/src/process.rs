//! Child processes: commands that must succeed, and process groups that end with us.
//!
//! A group is ended by the id of its leader, never by a name, and takes with it what its leader left behind. It also
//! ends by itself when we are gone, however we went: its leader holds the other end of a pipe.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// How long a group has between the request to end and the order. The script below gives it longer.
const GRACE: Duration = Duration::from_secs(3);

/// Runs its arguments, and ends the whole group when standard input ends.
const LIFELINE: &str = r#"
exec 3<&0
(trap '' TERM; read -r _ <&3; kill -s TERM 0; sleep 5; kill -s KILL 0) >/dev/null 2>&1 &
"$@" 3<&- </dev/null
"#;

/// Runs a command to its end, with our own standard streams.
///
/// # Errors
/// If it cannot be started or does not succeed; the message is the command line.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    let status = command.status().with_context(|| format!("cannot start `{line}`; is it installed?"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Runs a command to its end and returns its standard output.
///
/// # Errors
/// As [`succeed`], with the last line of standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`; is it installed?"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = stderr.trim_end().lines().last().unwrap_or_default();
        bail!("`{line}` ended with {}: {last}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as one would type it, for messages.
pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A command for [`Group::spawn`]. Its standard input is not its own.
pub(crate) fn grouped(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", LIFELINE, "sh"]).arg(program).stdin(Stdio::piped()).process_group(0);
    command
}

/// A running child that leads a process group of its own. Dropping it ends the group.
#[derive(Debug)]
pub(crate) struct Group {
    leader: u32,
    /// Closing it is the request to end.
    lifeline: Option<ChildStdin>,
    ended: Receiver<std::io::Result<ExitStatus>>,
    /// Kept, since the channel gives it only once.
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts a [`grouped`] command; `take` gets the child first, to take its pipes.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn spawn<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> Result<(Self, T)> {
        let line = command_line(command);
        let mut child = command.spawn().with_context(|| format!("cannot start `{line}`"))?;
        let taken = take(&mut child);
        let (leader, lifeline) = (child.id(), child.stdin.take());
        let (tx, ended) = mpsc::channel();
        thread::spawn(move || tx.send(child.wait()));
        Ok((Self { leader, lifeline, ended, status: None }, taken))
    }

    /// Waits for the leader to end, at most so long. `None` if it still runs.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.ended.recv_timeout(limit).ok().and_then(Result::ok);
        }
        self.status
    }

    fn kill(&self) {
        // The shell's own `kill`: no other way to name a group without unsafe code or another dependency.
        let script = "kill -s KILL -- \"-$0\" 2>/dev/null";
        if let Err(error) = Command::new("sh").args(["-c", script, &self.leader.to_string()]).status() {
            eprintln!("cannot end process group {}: {error}", self.leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.lifeline = None;
        self.wait(GRACE);
        // Also after the leader has gone: what it started may still be there.
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::ChildStdout;

    use super::*;

    fn spawn(script: &str) -> (Group, BufReader<ChildStdout>) {
        let mut command = grouped("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let (group, stdout) = Group::spawn(&mut command, |child| child.stdout.take().unwrap()).unwrap();
        (group, BufReader::new(stdout))
    }

    #[test]
    fn a_dropped_group_takes_the_children_of_its_leader_with_it() {
        // The grandchild ignores the polite request and holds the pipe; its end is the end of the pipe.
        let (group, mut stdout) = spawn("sh -c 'trap \"\" TERM; echo up; exec tail -f /dev/null' & wait");
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        drop(group);
        assert_eq!(stdout.read_to_string(&mut line).unwrap(), 0);
    }

    #[test]
    fn a_group_ends_when_whoever_started_it_is_gone() {
        let (mut group, mut stdout) = spawn("exec tail -f /dev/null");
        // What happens to the pipe when we end, in whatever way.
        drop(group.lifeline.take());
        assert_eq!(stdout.read_to_string(&mut String::new()).unwrap(), 0);
        assert!(!group.wait(Duration::from_secs(60)).unwrap().success());
    }

    #[test]
    fn the_status_of_a_leader_can_be_asked_for_twice() {
        let (mut group, _stdout) = spawn("exit 3");
        let limit = Duration::from_secs(60);
        assert_eq!(group.wait(limit).and_then(|status| status.code()), Some(3));
        assert_eq!(group.wait(Duration::ZERO).and_then(|status| status.code()), Some(3));
    }

    #[test]
    fn a_failed_command_is_named() {
        let failed = output(Command::new("sh").args(["-c", "echo why >&2; exit 4"])).unwrap_err().to_string();
        assert!(failed.contains("exit status: 4: why"), "{failed}");
        let missing = succeed(&mut Command::new("no-such-program-here")).unwrap_err().to_string();
        assert!(missing.contains("cannot start `no-such-program-here`"), "{missing}");
    }
}
