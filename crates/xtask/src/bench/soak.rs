//! What a server holds while its clients leave, one after the other, without a word.
//!
//! Scripts (`abandoned.rs`, `legacy/`) are played by a bounded number of visitors, in batches; the memory
//! of the server process is read between two batches. `curve.rs` says whether it grew.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::abandoned::{self, Script, Visitor};
use super::curve::{Curve, Memory};
use super::report::Report;
use super::{legacy, subject};
use crate::{process, workspace};

/// Visitors at the same time.
const VISITORS: u64 = 32;

/// How much is abandoned between two looks at the memory.
const BATCH: u64 = 5_000;

/// How much is abandoned in one way, one after the other, in the first half of the warm-up.
const IN_STEP: u64 = 1_000;

/// How much is abandoned in all, after the warm-up.
const ABANDONED: u64 = 100_000;

/// How long the server has before its memory is read.
const SETTLE: Duration = Duration::from_millis(200);

/// One kind of abandoned work, and a server for it.
struct Mix {
    name: &'static str,
    mode: &'static str,
    times: &'static str,
    /// Enough to fill every bounded table.
    warm_up: u64,
    scripts: &'static [&'static [Script]],
}

const MIXES: &[Mix] = &[
    Mix {
        name: "sessions over Streamable HTTP that expire",
        mode: "http",
        times: "short",
        // Of six in eight something is kept for a second, and the ids of 40 000 of those that have expired. That
        // is full after a quarter of this; the rest is for the heap, which takes long to have been through the
        // worst.
        warm_up: 250_000,
        scripts: &[legacy::IN_SESSIONS],
    },
    Mix {
        name: "sessions over Streamable HTTP that make room",
        mode: "http",
        times: "lasting",
        // Of six in eight something is kept: 10 000 sessions, and the ids of 40 000 that gave way.
        warm_up: 200_000,
        scripts: &[legacy::IN_SESSIONS],
    },
    Mix {
        name: "modern exchanges over HTTP",
        mode: "http",
        times: "short",
        // Nothing is kept, but the heap takes long to have been through everything at once.
        warm_up: 100_000,
        scripts: &[abandoned::EXCHANGES],
    },
    Mix {
        name: "streams of HTTP+SSE",
        mode: "http",
        times: "short",
        warm_up: 100_000,
        scripts: &[legacy::ON_EVENT_STREAMS],
    },
    Mix {
        name: "pipes of both eras",
        mode: "pipes",
        times: "short",
        warm_up: 80_000,
        scripts: &[abandoned::IN_PIPES, legacy::IN_PIPES],
    },
    Mix {
        name: "cancelled exchanges of both eras on one pipe",
        mode: "stdio",
        times: "short",
        warm_up: 20_000,
        scripts: &[],
    },
];

/// Plays every mix whose name holds `only`, and reports its curve.
///
/// # Errors
/// When the server cannot be built, ends, or answers what it should not.
pub(crate) fn measure(benches: &Path, only: Option<&str>, report: &mut Report) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(benches).args(["build", "--release", "--target-dir", "../target/benches"]);
    process::succeed(cargo.args(["-p", "bench-soak"]))?;
    let program = workspace::root().join("target/benches/release/bench-soak");
    for mix in MIXES.iter().filter(|mix| only.is_none_or(|only| mix.name.contains(only))) {
        report.add_curve(mix.play(&program).with_context(|| mix.name)?);
    }
    Ok(())
}

impl Mix {
    fn play(&self, program: &PathBuf) -> Result<Curve> {
        let mut server = Server::start(program, self)?;
        let mut curve = Curve::new(self.name);
        let mut done = 0;
        while done < self.warm_up + ABANDONED {
            let in_step = done < self.warm_up / 2;
            server.visits.take(done..done + BATCH, (self.scripts, in_step))?;
            done += BATCH;
            // Who left last is still being noticed.
            thread::sleep(SETTLE);
            let memory = memory(server.child.id()).context("the server has ended")?;
            if let Some(count) = done.checked_sub(self.warm_up) {
                curve.add(usize::try_from(count)?, memory);
            }
        }
        Ok(curve)
    }
}

/// A server that is left. Dropping it ends it.
struct Server {
    child: Child,
    visits: Visits,
}

enum Visits {
    Connections(Vec<Visitor>),
    Pipe(ChildStdin, BufReader<ChildStdout>),
}

impl Server {
    fn start(program: &PathBuf, mix: &Mix) -> Result<Self> {
        let mut command = Command::new(program);
        if mix.mode == "stdio" {
            command.args([mix.mode, mix.times]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn()?;
            let (input, output) = child.stdin.take().zip(child.stdout.take()).context("no pipes")?;
            let mut visits = Visits::Pipe(input, BufReader::new(output));
            visits.open_session()?;
            return Ok(Self { child, visits });
        }
        command.args([mix.mode, "0", mix.times]).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let address = subject::address_of(&mut child)?;
        let visitors = (0..VISITORS).map(|_| Visitor::new(&address)).collect();
        Ok(Self { child, visits: Visits::Connections(visitors) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Visits::Connections(visitors) = &self.visits {
            let busy: u64 = visitors.iter().map(|visitor| visitor.busy).sum();
            eprintln!("the server had no place {busy} times");
        }
        // Ended already, or about to be: either way it must not stay.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Visits {
    /// Abandons something under each of these numbers.
    fn take(
        &mut self,
        numbers: std::ops::Range<u64>,
        (scripts, in_step): (&[&[Script]], bool),
    ) -> Result<()> {
        match self {
            Self::Connections(visitors) => by_connection(visitors, numbers, (&scripts.concat(), in_step)),
            Self::Pipe(input, output) => by_cancelling((input, output), numbers),
        }
    }

    fn open_session(&mut self) -> Result<()> {
        let Self::Pipe(input, output) = self else { return Ok(()) };
        writeln!(input, "{}", legacy::initialize(r#"{"elicitation":{}}"#))?;
        let mut line = String::new();
        ensure!(output.read_line(&mut line)? > 0, "the server closed its output");
        writeln!(input, "{}", legacy::INITIALIZED)?;
        Ok(())
    }
}

fn by_connection(
    visitors: &mut [Visitor],
    numbers: std::ops::Range<u64>,
    how: (&[Script], bool),
) -> Result<()> {
    let step = visitors.len();
    thread::scope(|scope| {
        let all: Vec<_> = visitors
            .iter_mut()
            .enumerate()
            .map(|(index, visitor)| {
                let numbers = numbers.clone().skip(index).step_by(step);
                scope.spawn(move || play(visitor, numbers, how))
            })
            .collect();
        all.into_iter()
            .try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// In step, all visitors do the same at the same time: that is the most of its kind that there can be.
fn play(
    visitor: &mut Visitor,
    numbers: impl Iterator<Item = u64>,
    (scripts, in_step): (&[Script], bool),
) -> Result<()> {
    for number in numbers {
        visitor.number = number;
        // Else not in step with their number, so that each of them plays every script.
        let turn = if in_step { number / IN_STEP } else { number ^ (number / VISITORS) };
        let index = turn % scripts.len() as u64;
        let script = scripts[usize::try_from(index)?];
        script(visitor).with_context(|| format!("script {index}"))?;
    }
    Ok(())
}

/// A client that stays, and cancels all that it asks for: calls that wait, in the session and without, and
/// questions that it never answers.
fn by_cancelling(
    (input, output): (&mut ChildStdin, &mut BufReader<ChildStdout>),
    numbers: std::ops::Range<u64>,
) -> Result<()> {
    /// How much is asked before what was said is read: less than a pipe holds.
    const AT_ONCE: u64 = 25;
    let mut line = String::new();
    for first in numbers.clone().step_by(usize::try_from(AT_ONCE)?) {
        let mut text = String::new();
        for number in first..numbers.end.min(first + AT_ONCE) {
            let (tool, in_session) = [("wait", true), ("wait", false), ("ask", true), ("speak", true)]
                [usize::try_from(number % 4)?];
            let params = format!(r#""name":"{tool}","arguments":{{}}"#);
            text += &if in_session {
                legacy::request(number, "tools/call", &params)
            } else {
                abandoned::message(number, "tools/call", &params)
            };
            text += &format!(
                "\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{number}}}}}\n"
            );
        }
        text += &legacy::request(1 << 40 | first, "ping", "");
        text.push('\n');
        input.write_all(text.as_bytes())?;
        let last = format!("\"id\":{}", 1 << 40 | first);
        line.clear();
        while !line.contains(&last) {
            line.clear();
            ensure!(output.read_line(&mut line)? > 0, "the server closed its output");
        }
    }
    Ok(())
}

fn memory(process: u32) -> Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_end_matches("kB").trim().parse::<f64>().ok().map(|kilobytes| kilobytes * 1024.0)
    };
    let (rss, pss) = of("Rss:").zip(of("Pss:")).context("/proc says nothing of the memory")?;
    Ok(Memory { rss, pss })
}
