//! The host: what it adds to the time of a model, how soon it asks one, what it holds, and what a large result costs.
//!
//! Figures are medians of several runs of release builds. A model that plays a script runs in this process, so that
//! all times are of one clock. `program` is the host and its servers, `model` the model.

mod model;
mod program;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use self::model::{Asked, Model, Turn, last_result, offered};
use self::program::{Home, Listening, Programs, Serving, configuration, over_http, over_stdio};
use super::median;
use super::report::{HOST, Report, Row, Target};
use crate::{process, workspace};

/// Servers, and tools of each: three hundred in all.
const SERVERS: usize = 10;
const TOOLS: usize = 30;

/// The bytes of a large result.
const LARGE: usize = 50_000_000;
/// Of such a result, what the model is given by default.
const BUDGET: f64 = 32.0 * 1024.0;
/// Where the model reads on: a line of the server's text begins at each multiple of 30.
const PLACE: usize = 30_000_000;

/// How long nothing is asked before the memory is read.
const IDLE: Duration = Duration::from_secs(2);

/// Measures all of it.
///
/// # Errors
/// When a program cannot be built or started, or the host does not do what it should.
pub(super) fn measure((benches, as_built): (&Path, bool), rounds: usize, report: &mut Report) -> Result<()> {
    let programs = programs();
    if !as_built {
        build(benches)?;
    }
    start_of_runs(&programs, rounds, report)?;
    answers(&programs, rounds, report)?;
    large_result(&programs, ("a pipe", &over_stdio(&programs.server, 1)), report)?;
    let listening = Listening::start(&programs.server, 1)?;
    large_result(&programs, ("HTTP", &over_http(&listening)), report)
}

fn build(benches: &Path) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(benches).args(["build", "--release", "--target-dir", "../target/benches"]);
    process::succeed(cargo.args(["-p", "bench-host"]))?;
    let mut cargo = Command::new("cargo");
    process::succeed(cargo.current_dir(workspace::root()).args(["build", "--release", "-p", "switchboard"]))
}

fn programs() -> Programs {
    let target = workspace::root().join("target");
    Programs { host: target.join("release/switchboard"), server: target.join("benches/release/bench-host") }
}

fn add(report: &mut Report, name: &str, target: Target, value: f64) {
    let mut row = Row::new(HOST, name, target);
    row.add("ours", value);
    report.add(row);
}

fn milliseconds(from: Instant, to: Instant) -> f64 {
    // A clock that is read on two threads may seem to go back a little.
    to.saturating_duration_since(from).as_secs_f64() * 1000.0
}

/// From the start of `switchboard run` to the request that the model gets.
fn start_of_runs(programs: &Programs, rounds: usize, report: &mut Report) -> Result<()> {
    let listening: Vec<Listening> =
        (0..SERVERS).map(|_| Listening::start(&programs.server, TOOLS)).collect::<Result<_>>()?;
    let urls: Vec<String> = listening.iter().map(over_http).collect();
    let children = vec![over_stdio(&programs.server, TOOLS); SERVERS];
    let cases = [
        (
            "ms from the start of `run` to the first request, 1 server over HTTP",
            &urls[..1],
            Target::AtMost(150.0),
        ),
        ("the same, 10 servers over HTTP, 300 tools", &urls[..], Target::AtMost(150.0)),
        ("the same, 10 children, 300 tools", &children[..], Target::None),
    ];
    for (name, servers, target) in cases {
        let model = Model::that_speaks()?;
        let home = Home::with(&configuration(&model.base_url, servers))?;
        let start = || -> Result<f64> {
            let mut command = home.command(&programs.host);
            let since = Instant::now();
            let output = command.args(["run", "Say something"]).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(milliseconds(since, model.next()?.at))
        };
        // The first one makes the files.
        start()?;
        let times = (0..rounds).map(|_| start()).collect::<Result<Vec<_>>>()?;
        add(report, name, target, median(times.into_iter()));
    }
    Ok(())
}

/// When the words of an answer arrive, and what a host holds that has nothing to do.
fn answers(programs: &Programs, rounds: usize, report: &mut Report) -> Result<()> {
    let model = Model::start(|body| match last_result(body) {
        None if asks_for_a_call(body) => call(body, "find_007", json!({ "query": "words" })),
        _ => Turn::Say,
    })?;
    let empty = Home::with(&configuration(&model.base_url, &[]))?;
    idle(&Serving::start(empty.command(&programs.host), 0)?, "without servers", report)?;
    let children = vec![over_stdio(&programs.server, TOOLS); SERVERS];
    let home = Home::with(&configuration(&model.base_url, &children))?;
    let serving = Serving::start(home.command(&programs.host), SERVERS)?;
    idle(&serving, "10 servers, 300 tools", report)?;
    let (mut starts, mut lags, mut after_calls) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let since = Instant::now();
        let seen = serving.run("Say something", "\"text_delta\"")?;
        let asked = model.next()?;
        starts.push(milliseconds(since, asked.at));
        lags.push(lag(&asked, &seen)?);
        let seen = serving.run("Call a tool", "\"text_delta\"")?;
        let (_, asked) = (model.next()?, model.next()?);
        ensure!(last_result(&asked.body).is_some(), "the call was not made: {}", asked.body);
        after_calls.push(lag(&asked, &seen)?);
    }
    let worst = lags.iter().chain(&after_calls).copied().fold(0.0, f64::max);
    add(
        report,
        "ms from the model's first token to ours over `POST /run`, 300 tools",
        Target::AtMost(50.0),
        median(lags.into_iter()),
    );
    add(report, "the same, after the call of a tool", Target::AtMost(50.0), median(after_calls.into_iter()));
    add(report, "the same, the slowest of all", Target::None, worst);
    add(report, "ms from `POST /run` to the request, 300 tools", Target::None, median(starts.into_iter()));
    idle(&serving, "10 servers, after the runs", report)
}

fn asks_for_a_call(body: &Value) -> bool {
    body["messages"].as_array().and_then(|messages| messages.last()?["content"].as_str())
        == Some("Call a tool")
}

fn call(body: &Value, ending: &str, arguments: Value) -> Turn {
    offered(body, ending).map_or(Turn::Say, |name| Turn::Call(name.to_owned(), arguments))
}

fn lag(asked: &Asked, seen: &[Instant]) -> Result<f64> {
    let first = seen.first().context("no word of the answer arrived")?;
    Ok(milliseconds(asked.first_token, *first))
}

fn idle(serving: &Serving, name: &str, report: &mut Report) -> Result<()> {
    thread::sleep(IDLE);
    let resident = serving.megabytes("smaps_rollup", "Rss")?;
    let target = if name.contains("after") { Target::None } else { Target::AtMost(30.0) };
    add(report, &format!("MB resident of an idle `serve`, {name}"), target, resident);
    Ok(())
}

/// A result of 50 MB: what the model is given of it, that it can read on in its middle, and what the host holds.
fn large_result(programs: &Programs, (over, server): (&str, &str), report: &mut Report) -> Result<()> {
    let model = Model::start(|body| {
        let calls = body["messages"]
            .as_array()
            .map_or(0, |all| all.iter().filter(|one| one["role"] == "tool").count());
        match (calls, last_result(body).and_then(kept_as)) {
            (0, _) => call(body, "large", json!({ "bytes": LARGE })),
            (1, Some(id)) => {
                call(body, "read_artefact", json!({ "id": id, "offset": PLACE, "length": 3_000 }))
            }
            _ => Turn::Say,
        }
    })?;
    let home = Home::with(&configuration(&model.base_url, &[server.to_owned()]))?;
    let serving = Serving::start(home.command(&programs.host), 1)?;
    serving.run("Read all of it", "\"text_delta\"")?;
    let [first, second, third] = [model.next()?, model.next()?, model.next()?];
    let result = last_result(&second.body).context("the model was given no result")?;
    ensure!(result.starts_with("byte            0 of the text"), "another result: {result:.200}");
    let read = last_result(&third.body).context("the model was given no range")?;
    ensure!(read.contains(&format!("byte {PLACE:>12} of the text")), "another range: {read:.200}");
    // The marks in the text that say what is missing do not count.
    let marks = result.lines().filter(|line| !line.starts_with("byte ")).map(str::len).sum::<usize>();
    #[expect(clippy::cast_precision_loss, reason = "bytes of a request")]
    let (given, grown) = ((result.len() - marks) as f64, second.bytes.saturating_sub(first.bytes) as f64);
    add(
        report,
        &format!("bytes of a result of 50 MB over {over} that the model is given"),
        Target::AtMost(BUDGET),
        given,
    );
    add(report, "bytes by which the request grows with it", Target::None, grown);
    add(
        report,
        "MB resident at most during that",
        Target::AtMost(200.0),
        serving.megabytes("status", "VmHWM")?,
    );
    idle(&serving, "after it", report)
}

/// The id of the artefact that a cut result names.
fn kept_as(result: &str) -> Option<String> {
    let (_, rest) = result.split_once("is kept as ")?;
    rest.split([':', ';', ' ']).next().map(str::to_owned)
}
