//! Our server under test: started on a free port, asked for its address, ended with its process group.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::process::{self, Group};

/// What it says on standard error, followed by its address.
const READY: &str = "listening on ";

/// How long it may take to say so.
const LIMIT: Duration = Duration::from_secs(20);

pub(super) struct Server {
    group: Group,
    url: String,
    log: PathBuf,
}

impl Server {
    /// Starts the program and waits for its address. Its standard error goes to `log`. `newest` is the newest
    /// revision that it has, if not the newest of all.
    ///
    /// # Errors
    /// If it cannot be started, or ends or stays silent instead of listening.
    pub(super) fn start(program: &Path, newest: Option<&str>, log: &Path) -> Result<Self> {
        let mut command = process::grouped(program);
        command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        command.args(newest.iter().flat_map(|date| ["--newest", date]));
        let (mut group, stderr) = Group::spawn(&mut command, |child| child.stderr.take())?;
        let stderr = stderr.context("the server has no standard error")?;
        let mut file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let (tx, rx) = mpsc::channel();
        thread::spawn(move || copy_lines(stderr, &mut file, &tx));
        // The channel closes without an address if the server ends first.
        match rx.recv_timeout(LIMIT) {
            Ok(url) => Ok(Self { group, url, log: log.to_path_buf() }),
            Err(_) => {
                let state = group.wait(Duration::from_millis(100));
                let state = state.map_or("still runs".to_owned(), |status| format!("ended with {status}"));
                bail!(
                    "conformance-server did not say `{READY}URL` on standard error; it {state}: see {}",
                    log.display()
                )
            }
        }
    }

    /// Its address, if it still runs.
    pub(super) fn url(&mut self) -> Result<String, String> {
        match self.group.wait(Duration::ZERO) {
            None => Ok(self.url.clone()),
            Some(status) => {
                Err(format!("conformance-server ended with {status}: see {}", self.log.display()))
            }
        }
    }
}

/// Copies line by line to the log, and sends the first address.
fn copy_lines(stderr: impl Read, log: &mut impl std::io::Write, tx: &Sender<String>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        if let Some(url) = address(&String::from_utf8_lossy(&line)) {
            // Nobody listens any more after the first.
            let _ = tx.send(url);
        }
        let _ = log.write_all(&line).and_then(|()| log.write_all(b"\n"));
    }
}

fn address(line: &str) -> Option<String> {
    let (_, url) = line.split_once(READY)?;
    let url = url.split_whitespace().next()?;
    url.starts_with("http://").then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_found_among_other_lines() {
        let (tx, rx) = mpsc::channel();
        let mut log = Vec::new();
        let stderr = "starting\nlistening on http://127.0.0.1:4711/mcp\nlistening on nothing\n";
        copy_lines(stderr.as_bytes(), &mut log, &tx);
        drop(tx);
        assert_eq!(rx.iter().collect::<Vec<_>>(), ["http://127.0.0.1:4711/mcp"]);
        assert_eq!(String::from_utf8(log).unwrap(), stderr);
    }
}
