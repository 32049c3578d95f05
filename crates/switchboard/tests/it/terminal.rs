//! What a person at a terminal sees and answers, through a real pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use switchboard_llm::scripted::{Script, ScriptedModel};
use switchboard_testkit::canned;

use crate::program::{Ran, command, finish};

/// How long a test waits for a word on the screen before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// The binary with a terminal as its stdin and stderr; stdout stays a pipe.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    /// The first bytes of a letter.
    cut: Vec<u8>,
    seen: String,
    /// How much of it was waited for already.
    read: usize,
}

impl Terminal {
    pub(crate) fn start(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command(args);
        command.env("TERM", "xterm").envs(environment.iter().copied());
        Self::run(command)
    }

    /// Runs a command with it.
    pub(crate) fn run(command: std::process::Command) -> Self {
        Self::open(command, Stdio::piped())
    }

    /// Runs a command with it that has nothing but this terminal.
    pub(crate) fn whole(command: std::process::Command) -> Self {
        Self::open(command, None)
    }

    fn open(mut command: std::process::Command, stdout: impl Into<Option<Stdio>>) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let flags = i32::try_from(OFlags::NOCTTY.bits()).unwrap();
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path.to_str().unwrap())
            .unwrap();
        let stdout = stdout.into().unwrap_or_else(|| line.try_clone().unwrap().into());
        command.stdin(line.try_clone().unwrap()).stderr(line).stdout(stdout);
        let child = command.spawn().unwrap();
        // The parent's copies of the line close here, so that the screen ends when the child does.
        drop(command);
        let keyboard = File::from(master);
        let screen = watch(keyboard.try_clone().unwrap());
        Self { child, keyboard, screen, cut: Vec::new(), seen: String::new(), read: 0 }
    }

    /// Rows and columns.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.keyboard, size).unwrap();
    }

    /// Waits until the screen shows this, after what was waited for before.
    pub(crate) fn wait_for(&mut self, words: &str) {
        self.wait_for_any(&[words]);
    }

    /// Waits until the screen shows one of these, and says which comes first.
    pub(crate) fn wait_for_any(&mut self, words: &[&str]) -> usize {
        loop {
            let rest = &self.seen[self.read..];
            let found =
                words.iter().enumerate().filter_map(|(index, words)| Some((rest.find(words)?, index)));
            if let Some((at, index)) = found.min() {
                self.read += at + words[index].len();
                return index;
            }
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{words:?} is not on the screen ({error}):\n{}", self.seen),
            }
        }
    }

    /// A letter may come in two pieces.
    fn take(&mut self, bytes: &[u8]) {
        self.cut.extend(bytes);
        let whole = match std::str::from_utf8(&self.cut) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.cut.len(),
        };
        let rest = self.cut.split_off(whole);
        self.seen.push_str(&String::from_utf8_lossy(&std::mem::replace(&mut self.cut, rest)));
    }

    /// Everything that was seen.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).unwrap();
    }

    /// Presses keys again and again until the screen shows this.
    pub(crate) fn press_until(&mut self, keys: &[u8], words: &str) {
        for _ in 0..300 {
            self.press(keys);
            if let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(100)) {
                self.take(&bytes);
            }
            if self.seen[self.read..].contains(words) {
                break;
            }
        }
        self.wait_for(words);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Tells, also after the end, whether what is typed is shown.
    pub(crate) fn echo(&self) -> impl Fn() -> bool + use<> {
        let keyboard = self.keyboard.try_clone().unwrap();
        move || {
            let modes = rustix::termios::tcgetattr(&keyboard).unwrap().local_modes;
            modes.contains(rustix::termios::LocalModes::ECHO)
        }
    }

    pub(crate) fn type_line(&mut self, words: &str) {
        writeln!(self.keyboard, "{words}").unwrap();
    }

    /// Waits for the end; stderr is everything that the screen showed.
    pub(crate) fn end(mut self) -> Ran {
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            self.take(&bytes);
        }
        let mut ran = finish(self.child);
        ran.stderr = self.seen;
        ran
    }
}

/// Reads the screen on a thread of its own, until the child's side is closed.
fn watch(mut screen: File) -> Receiver<Vec<u8>> {
    let (tx, rx) = channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut buffer) {
            if tx.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    rx
}

const QUESTION: [&str; 3] = ["run", "--demo", "How warm is it right now?"];

#[test]
fn a_person_is_shown_the_whole_call_and_says_yes() {
    let mut terminal = Terminal::start(&QUESTION, &[]);
    terminal.wait_for("[n] no:");
    terminal.type_line("maybe");
    terminal.wait_for("Answer y, r, s or n.");
    // What is typed before a question stands there is no answer to it.
    terminal.wait_for("[n] no:");
    terminal.type_line("y");
    let ran =
        terminal.end().expect(0).says(&["Allow this call?", "station", "get_climate", "arguments", "{}"]);
    assert!(ran.stdout.contains("Indoor"), "{}", ran.stdout);
}

#[test]
fn a_person_says_no_and_the_call_is_not_made() {
    let mut terminal = Terminal::start(&QUESTION, &[]);
    terminal.wait_for("[n] no:");
    terminal.type_line("n");
    let ran = terminal.end().expect(2);
    assert_eq!(ran.stdout, "");
}

#[test]
fn what_was_typed_before_the_question_stood_there_is_no_consent() {
    let mut terminal = Terminal::start(&QUESTION, &[]);
    terminal.type_line("y");
    terminal.type_line("r");
    terminal.wait_for("[n] no:");
    terminal.keyboard.write_all(&[4]).unwrap();
    let ran = terminal.end().expect(2);
    assert_eq!(ran.stdout, "");
}

#[test]
fn ctrl_d_is_no_consent() {
    let mut terminal = Terminal::start(&QUESTION, &[]);
    terminal.wait_for("[n] no:");
    terminal.keyboard.write_all(&[4]).unwrap();
    terminal.end().expect(2);
}

#[test]
fn ctrl_c_withdraws_the_question() {
    let mut terminal = Terminal::start(&QUESTION, &[]);
    terminal.wait_for("[n] no:");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    terminal.end().expect(130).says(&["interrupted"]);
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    for (environment, bold) in [(&[][..], true), (&[("NO_COLOR", "1")], false), (&[("TERM", "dumb")], false)]
    {
        let mut terminal = Terminal::start(&QUESTION, environment);
        terminal.wait_for("[n] no:");
        terminal.type_line("n");
        assert_eq!(terminal.end().stderr.contains("\u{1b}[1m"), bold, "{environment:?}");
    }
}

#[test]
fn what_the_question_does_not_hold_is_asked_for() {
    let city = canned::serve(|request| {
        let answer = if request.target.starts_with("/v1/search") {
            json!({ "results": [{ "name": "Paris", "latitude": 48.85, "longitude": 2.35 }] })
        } else {
            json!({ "current": {
                "time": "2026-08-01T12:00", "temperature_2m": 11.7, "relative_humidity_2m": 71, "wind_speed_10m": 10.9,
            } })
        };
        (200, answer.to_string())
    });
    let args = ["run", "--demo", "--city-api", &city, "What is the weather?"];
    let mut terminal = Terminal::start(&args, &[]);
    terminal.wait_for("needs location");
    terminal.type_line("Paris");
    terminal.wait_for("[n] no:");
    terminal.type_line("y");
    let ran = terminal.end().expect(0).says(&["\"location\": \"Paris\""]);
    assert!(ran.stdout.contains("Paris: 11.7 °C"), "{}", ran.stdout);
}

#[tokio::test]
async fn consent_for_the_run_covers_other_arguments_and_no_other_tool() {
    let call = |name: &str, arguments: serde_json::Value| json!({ "call": [{ "name": name, "arguments": arguments }] });
    let script = json!({ "turns": [
        call("calculator__calculator_arithmetic", json!({ "expression": "6 * 7" })),
        call("calculator__calculator_arithmetic", json!({ "expression": "1 + 1" })),
        call("station__get_climate", json!({})),
        { "expect": { "last_contains": "not made" }, "say": "42, 2, and nothing." },
    ] });
    let model = ScriptedModel::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap();
    let base_url = model.base_url();
    let answered = tokio::task::spawn_blocking(move || {
        let args = ["run", "--demo", "--base-url", &base_url, "--model", "scripted", "Count."];
        let mut terminal = Terminal::start(&args, &[]);
        terminal.wait_for("[n] no:");
        terminal.type_line("r");
        terminal.wait_for("get_climate");
        terminal.wait_for("[n] no:");
        terminal.type_line("n");
        terminal.end()
    });
    let ran = answered.await.unwrap().expect(0);
    assert_eq!(ran.stdout.trim(), "42, 2, and nothing.");
    assert_eq!(ran.stderr.matches("Allow this call?").count(), 2, "{}", ran.stderr);
    model.verify().unwrap();
}

#[test]
fn what_takes_long_is_shown_and_can_be_stopped() {
    // A model that takes the request and never answers.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let args = ["run", "--demo", "--base-url", &base_url, "--model", "thinker-9", "How warm is it?"];
    let mut terminal = Terminal::start(&args, &[]);
    // Once in the line about the choice, and once beside the spinner.
    terminal.wait_for("thinker-9");
    terminal.wait_for("thinker-9");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    terminal.end().expect(130);
}

#[test]
fn a_server_that_says_nothing_is_named_while_it_is_waited_for() {
    let mut terminal = Terminal::start(&["tools", "list", "--", "sh", "-c", "cat >/dev/null"], &[]);
    terminal.wait_for("connecting to sh");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    terminal.end().expect(130);
}
