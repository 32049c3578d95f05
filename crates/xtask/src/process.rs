//! Child processes: commands that must succeed, and process groups that end with us.
//!
//! A group is ended by the id of its leader, never by a name, and takes with it what its leader left behind.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// How long a group has between the request to end and the order.
const GRACE: Duration = Duration::from_secs(3);

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

/// A running child that leads a process group of its own. Dropping it ends the group.
#[derive(Debug)]
pub(crate) struct Group {
    leader: u32,
    ended: Receiver<std::io::Result<ExitStatus>>,
    /// Kept, since the channel gives it only once.
    status: Option<ExitStatus>,
}

impl Group {
    /// Starts the command; `take` gets the child first, to take its pipes.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn spawn<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> Result<(Self, T)> {
        let line = command_line(command);
        let mut child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start `{line}`; is it installed?"))?;
        let taken = take(&mut child);
        let leader = child.id();
        let (tx, ended) = mpsc::channel();
        thread::spawn(move || tx.send(child.wait()));
        Ok((Self { leader, ended, status: None }, taken))
    }

    /// Waits for the leader to end, at most so long. `None` if it still runs.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.ended.recv_timeout(limit).ok().and_then(Result::ok);
        }
        self.status
    }

    fn signal(&self, name: &str) {
        // The shell's own `kill`: no other way to name a group without unsafe code or another dependency.
        let script = "kill -s \"$0\" -- \"-$1\" 2>/dev/null";
        let signalled = Command::new("sh").args(["-c", script, name, &self.leader.to_string()]).status();
        if let Err(error) = signalled {
            eprintln!("cannot signal process group {}: {error}", self.leader);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal("TERM");
        self.wait(GRACE);
        // Also after the leader has gone: what it started may still be there.
        self.signal("KILL");
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};

    use super::*;

    #[test]
    fn a_dropped_group_takes_the_children_of_its_leader_with_it() {
        // The grandchild ignores the polite request and holds the pipe; its end is the end of the pipe.
        let script = "sh -c 'trap \"\" TERM; echo up; exec tail -f /dev/null' & wait";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let (group, stdout) = Group::spawn(&mut command, |child| child.stdout.take().unwrap()).unwrap();
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        drop(group);
        assert_eq!(stdout.read_to_string(&mut line).unwrap(), 0);
    }

    #[test]
    fn the_status_of_a_leader_can_be_asked_for_twice() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let (mut group, ()) = Group::spawn(&mut command, |_| ()).unwrap();
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
