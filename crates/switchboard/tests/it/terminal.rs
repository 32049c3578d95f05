//! What a person at a terminal sees and answers, through a real pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::program::{Ran, command, finish};

/// How long a test waits for a word on the screen before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The binary with a terminal as its stdin and stderr; stdout stays a pipe.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
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
        let mut command = command(args);
        command.env("TERM", "xterm").stdin(line.try_clone().unwrap()).stderr(line).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // The parent's copies of the line close here, so that the screen ends when the child does.
        drop(command);
        let keyboard = File::from(master);
        let screen = watch(keyboard.try_clone().unwrap());
        Self { child, keyboard, screen, seen: String::new() }
    }

    /// Waits until the screen shows this, and forgets everything up to it.
    fn wait_for(&mut self, words: &str) {
        while !self.seen.contains(words) {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("{words:?} is not on the screen ({error}):\n{}", self.seen),
            }
        }
    }

    fn type_line(&mut self, words: &str) {
        writeln!(self.keyboard, "{words}").unwrap();
    }

    /// Waits for the end; stderr is everything that the screen showed.
    fn end(self) -> Ran {
        let mut ran = finish(self.child);
        ran.stderr = self.seen;
        while let Ok(bytes) = self.screen.recv_timeout(PATIENCE) {
            ran.stderr.push_str(&String::from_utf8_lossy(&bytes));
        }
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
    let mut terminal = Terminal::start(&QUESTION);
    terminal.wait_for("[n] no:");
    terminal.type_line("maybe");
    terminal.wait_for("Answer y, r or n.");
    terminal.type_line("y");
    let ran =
        terminal.end().expect(0).says(&["Allow this call?", "station", "get_climate", "arguments", "{}"]);
    assert!(ran.stdout.contains("Indoor"), "{}", ran.stdout);
}

#[test]
fn a_person_says_no_and_the_call_is_not_made() {
    let mut terminal = Terminal::start(&QUESTION);
    terminal.wait_for("[n] no:");
    terminal.type_line("n");
    let ran = terminal.end().expect(2);
    assert_eq!(ran.stdout, "");
}

#[test]
fn ctrl_d_is_no_consent() {
    let mut terminal = Terminal::start(&QUESTION);
    terminal.wait_for("[n] no:");
    terminal.keyboard.write_all(&[4]).unwrap();
    terminal.end().expect(2);
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let mut terminal = Terminal::start(&QUESTION);
    terminal.wait_for("[n] no:");
    terminal.type_line("n");
    assert!(terminal.end().stderr.contains("\u{1b}[1m"), "bold where nothing speaks against it");
}
