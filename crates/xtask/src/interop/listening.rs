//! A program that listens: started, asked for its address, ended with its process group.

use std::io::{BufRead as _, BufReader, Read};
use std::process::Stdio;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Group};

/// What it says on standard error, followed by its address.
const READY: &str = "listening on ";

/// How long it may take to say so.
const LIMIT: Duration = Duration::from_secs(30);

pub(super) struct Listening {
    pub(super) url: String,
    /// Ends the program when it is dropped.
    _group: Group,
}

impl Listening {
    /// Starts the program and waits for its address.
    ///
    /// # Errors
    /// If it cannot be started, or ends or stays silent instead of listening.
    pub(super) fn start(words: &[String]) -> Result<Self> {
        let (program, arguments) = words.split_first().context("there is no program")?;
        let mut command = process::grouped(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
        let (group, stderr) = Group::spawn(&mut command, |child| child.stderr.take())?;
        let stderr = stderr.context("it has no standard error")?;
        let (tx, rx) = mpsc::channel();
        thread::spawn(move || find_address(stderr, &tx));
        match rx.recv_timeout(LIMIT) {
            Ok(url) => Ok(Self { url, _group: group }),
            Err(_) => bail!("`{}` did not say `{READY}URL` on standard error", words.join(" ")),
        }
    }
}

/// Reads to the end, so that the program is never kept waiting, and sends the first address.
fn find_address(stderr: impl Read, tx: &Sender<String>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some(url) = line.split_once(READY).and_then(|(_, url)| url.split_whitespace().next()) {
            // Nobody listens any more after the first.
            tx.send(url.to_owned()).ok();
        }
    }
}
