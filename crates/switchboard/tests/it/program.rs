//! Runs the real binary, in an environment that does not depend on the machine: no keys, no proxies, no look for
//! model servers, a home without anybody's configuration.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// What the binary left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Fails the test unless the exit code is this one, showing everything that was said.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// The result as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {:?}", self.stdout))
    }

    /// The error object, which is the last line of stderr.
    pub(crate) fn error(&self) -> serde_json::Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error} in {:?}", self.stderr))
    }

    /// Fails the test unless stderr holds each of these.
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in:\n{}", self.stderr);
        }
        self
    }
}

/// The binary with these arguments, not yet started.
pub(crate) fn command(args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    let kept = ["PATH", "TMPDIR", "LLVM_PROFILE_FILE"];
    let kept = kept.into_iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
    let home = home();
    command.env_clear().envs(kept).env("SWITCHBOARD_NO_LOCAL_MODELS", "1").args(args);
    command.env("HOME", home).env("SWITCHBOARD_CONFIG_DIR", home.join("config")).current_dir(home);
    command.env("SWITCHBOARD_SYSTEM_CONFIG", home.join("none.toml")).env("SWITCHBOARD_SECRETS", "file");
    command.env("SWITCHBOARD_DATA_DIR", home.join(format!("data-{}", std::process::id())));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A home with nothing in it. Nobody may write to it but into the data folder, which is this process's own.
pub(crate) fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home");
        std::fs::create_dir_all(&home).unwrap();
        // An earlier process may have had this one's number.
        let _ = std::fs::remove_dir_all(home.join(format!("data-{}", std::process::id())));
        home
    })
}

/// Runs the binary to its end with nothing on stdin.
pub(crate) fn run(args: &[&str]) -> Ran {
    finish(command(args).spawn().unwrap())
}

/// Runs the binary to its end with this text on stdin.
pub(crate) fn run_with_stdin(args: &[&str], stdin: &str) -> Ran {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    finish(child)
}

/// Waits for the end.
pub(crate) fn finish(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A running `switchboard demo`. It ends when its stdin does, so also when the test fails.
#[derive(Debug)]
pub(crate) struct Demo {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Name and URL of each server.
    pub(crate) servers: Vec<(String, String)>,
}

impl Demo {
    /// Starts the demo servers and waits until they say where they are.
    pub(crate) fn start(args: &[&str], servers: usize) -> Self {
        let mut child = command(["demo"].iter().chain(args)).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let servers = (0..servers).map(|_| named(&mut stdout)).collect();
        Self { child, stdin, stdout, servers }
    }

    /// The `NAME=URL` of one server, for `--server`.
    pub(crate) fn server(&self, name: &str) -> String {
        let (name, url) = self.servers.iter().find(|(known, _)| known == name).unwrap();
        format!("{name}={url}")
    }

    /// Its URL.
    pub(crate) fn url(&self, name: &str) -> &str {
        &self.servers.iter().find(|(known, _)| known == name).unwrap().1
    }

    /// Closes stdin and waits for the end.
    pub(crate) fn end(mut self) -> Ran {
        drop(self.stdin.take());
        let mut rest = String::new();
        while self.stdout.read_line(&mut rest).unwrap() > 0 {}
        let mut ran = finish(self.child);
        ran.stdout = rest;
        ran
    }
}

fn named(stdout: &mut BufReader<ChildStdout>) -> (String, String) {
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let (name, url) = line.trim_end().split_once('=').unwrap_or_else(|| panic!("no name=url: {line:?}"));
    (name.to_owned(), url.to_owned())
}

/// A command as one text, whatever is in its words: the folder of the checkout may have blanks in its name.
pub(crate) fn in_a_line(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap()
}

/// The arguments that start one demo server as a child over stdio.
pub(crate) fn over_stdio(server: &str) -> [String; 4] {
    [env!("CARGO_BIN_EXE_switchboard").to_owned(), "demo".to_owned(), server.to_owned(), "--stdio".to_owned()]
}
