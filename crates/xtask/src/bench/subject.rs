//! A server under measurement: how it is started, loaded and timed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::load::{self, Load, Timed};

/// One of the three servers.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
}

/// A server that runs and can be loaded. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    reached: Reached,
}

#[derive(Debug)]
enum Reached {
    Address(String),
    Pipes(Option<(ChildStdin, ChildStdout)>),
}

impl Subject {
    /// Starts the server behind a wrapper such as `taskset` or `valgrind`.
    ///
    /// # Errors
    /// When it does not start, or does not say where it listens.
    pub(crate) fn start(&self, wrapper: &[String], load: Load) -> Result<Running> {
        let words: Vec<String> =
            wrapper.iter().cloned().chain([self.program.display().to_string()]).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if load.over_stdio {
            // The fastest way over pipes that the peer has.
            command.arg(if self.name == "peer" { "stdio-pipes" } else { "stdio" });
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.args(["http", "0", &load.tools.to_string()]).stderr(Stdio::piped());
        }
        let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
        let reached = if load.over_stdio {
            Reached::Pipes(child.stdin.take().zip(child.stdout.take()))
        } else {
            Reached::Address(address_of(&mut child)?)
        };
        Ok(Running { child, reached })
    }

    /// CPU seconds and rate of a run, after a warm-up of a tenth.
    ///
    /// # Errors
    /// When the server fails or answers wrongly.
    pub(crate) fn timed(&self, load: Load, requests: usize) -> Result<Timed> {
        let wrapper = ["taskset", "-c", "0"].map(str::to_owned);
        let mut running = self.start(&wrapper, load)?;
        running.load(load, requests / 10)?;
        let (before, start) = (running.cpu_seconds()?, Instant::now());
        running.load(load, requests)?;
        let (used, took) = (running.cpu_seconds()? - before, start.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a number of requests")]
        let requests = requests as f64;
        Ok(Timed { cpu_seconds_per_100k: used / requests * 100_000.0, per_second: requests / took })
    }
}

impl Running {
    /// Sends so many requests and checks the answers.
    ///
    /// # Errors
    /// When the server fails or answers wrongly.
    pub(crate) fn load(&mut self, load: Load, requests: usize) -> Result<()> {
        match &mut self.reached {
            Reached::Address(address) => load::http(address, load, requests),
            Reached::Pipes(pipes) => {
                let (input, output) = pipes.as_mut().context("the pipes are gone")?;
                load::stdio(input, output, load, requests)
            }
        }
    }

    /// Asks the server to end and waits for it.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub(crate) fn stop(mut self) -> Result<()> {
        if let Reached::Pipes(pipes) = &mut self.reached {
            *pipes = None;
        } else {
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        }
        self.child.wait()?;
        Ok(())
    }

    /// CPU time of the process so far, in clock ticks of 10 ms.
    fn cpu_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The second field is the program's name in parentheses, which may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).context("/proc has no CPU time")?;
        Ok((user + system) / 100.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, or about to be: either way it must not stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where a server listens, which it says first of all on standard error.
///
/// # Errors
/// When it does not.
pub(crate) fn address_of(child: &mut Child) -> Result<String> {
    let mut stderr = BufReader::new(child.stderr.take().context("no standard error")?);
    let mut line = String::new();
    while stderr.read_line(&mut line)? > 0 {
        if let Some(address) = line.trim().strip_prefix("listening on ") {
            let address = address.to_owned();
            // Somebody must read the rest, or the server blocks once the pipe is full.
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
            return Ok(address);
        }
        line.clear();
    }
    anyhow::bail!("the server ended before it said where it listens")
}

/// Moves this process, and what it starts from now on, to these cores.
pub(crate) fn pin_self(cores: &str) {
    let id = std::process::id().to_string();
    let outcome = Command::new("taskset").args(["-cp", cores, &id]).stdout(Stdio::null()).status();
    if !outcome.is_ok_and(|status| status.success()) {
        eprintln!("cannot pin the load to core {cores}; the times are less steady");
    }
}
