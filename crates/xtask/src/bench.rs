//! `cargo xtask bench`: a hand-written HTTP server (the floor), the official Rust SDK (the peer) and
//! ours, with the same tools, in one run.
//!
//! Instruction counts come from callgrind as the difference of two request counts, so that start-up
//! cancels out; they are repeatable. CPU seconds are taken in interleaved rounds with the load on the
//! other core; only their ratios mean something. The host is asked questions beside a model that plays a
//! script. The soak looks at the memory of a server whose clients leave, a hundred thousand times. `benches/`
//! holds the servers, in a workspace of its own.

mod abandoned;
mod build;
mod curve;
mod host;
mod legacy;
mod load;
mod report;
mod soak;
mod subject;
mod valgrind;
mod wire;

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::{process, workspace};
use load::{Call, Load};
use report::{Report, Row, Target};
use subject::Subject;

/// Arguments of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these parts; all by default. What the others left in `benches/RESULTS.md` stays.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Of the soak, only the work whose name holds this.
    #[arg(long)]
    only: Option<String>,
    /// The host and its servers as they were built last.
    #[arg(long)]
    as_built: bool,
    /// Interleaved rounds of the timed part.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Leaves `benches/RESULTS.md` as it is.
    #[arg(long)]
    dry: bool,
}

/// Rounds of the host, which are short.
const HOST_ROUNDS: usize = 11;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Instructions and allocations per request.
    Instructions,
    /// CPU seconds and requests per second.
    Cpu,
    /// Crates, and CPU seconds of builds.
    Builds,
    /// The host's own time and memory.
    Host,
    /// Resident memory while clients leave.
    Soak,
}

/// Measures what was asked for; `false` if a target was missed.
///
/// # Errors
/// When a server cannot be built or started, answers wrongly, or a tool is missing.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    let benches = workspace::root().join("benches");
    let mut report = Report::default();
    if wanted(Part::Instructions) || wanted(Part::Cpu) {
        let servers = build_servers(&benches)?;
        if wanted(Part::Instructions) {
            instructions(&servers, &mut report)?;
        }
        if wanted(Part::Cpu) {
            cpu(&servers, args.rounds, &mut report)?;
        }
    }
    if wanted(Part::Builds) {
        build::measure(&benches, &mut report)?;
    }
    if wanted(Part::Host) {
        host::measure((&benches, args.as_built), args.rounds.max(HOST_ROUNDS), &mut report)?;
    }
    if wanted(Part::Soak) {
        soak::measure(&benches, args.only.as_deref(), &mut report)?;
    }
    println!("{}", report.markdown(""));
    // A part of the soak is not the soak.
    if !args.dry && args.only.is_none() {
        let file = benches.join("RESULTS.md");
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::write(file, report.markdown(&before))?;
    }
    Ok(report.misses() == 0)
}

fn build_servers(benches: &Path) -> Result<Vec<Subject>> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(benches).args(["build", "--release", "--target-dir", "../target/benches"]);
    process::succeed(cargo.args(["-p", "bench-floor", "-p", "bench-peer", "-p", "bench-ours"]))?;
    let release = workspace::root().join("target/benches/release");
    Ok(["floor", "peer", "ours"]
        .map(|name| Subject { name, program: release.join(format!("bench-{name}")) })
        .into())
}

/// One row of the instruction table: the load, the two request counts, our target.
struct Case {
    name: &'static str,
    load: Load,
    counts: [usize; 2],
    target: Target,
    /// Whether the same is asked in a session of the legacy era, too, and how many times our modern figure
    /// that may cost.
    in_session: Option<f64>,
}

const fn case(name: &'static str, load: Load, counts: [usize; 2], target: Target) -> Case {
    Case { name, load, counts, target, in_session: None }
}

impl Case {
    const fn in_session(self, times_modern: f64) -> Self {
        Self { in_session: Some(times_modern), ..self }
    }
}

/// The figure is for scale.
const ANY: f64 = f64::INFINITY;

const CASES: &[Case] = &[
    case(
        "`tools/call` echo, 16 connections",
        Load::http(Call::Echo, 16),
        [400, 2400],
        Target::AtMost(42_000.0),
    )
    .in_session(1.5),
    case("`tools/list`, 1 tool", Load::http(Call::List, 4).of_tools(1), [100, 600], Target::None),
    case(
        "`tools/list`, 100 tools",
        Load::http(Call::List, 4).of_tools(100),
        [100, 600],
        Target::AtMost(62_000.0),
    )
    .in_session(ANY),
    case(
        "`tools/list`, 1 000 tools",
        Load::http(Call::List, 4).of_tools(1000),
        [40, 140],
        Target::AtMost(312_000.0),
    )
    .in_session(ANY),
    case(
        "echo beside 1 000 tools",
        Load::http(Call::EchoOfMany, 16).of_tools(1000),
        [400, 1400],
        Target::AtMost(43_500.0),
    ),
    case("1 MB result", Load::http(Call::Blob, 1), [4, 14], Target::AtMost(12_000_000.0)).in_session(ANY),
    case("1 MB argument", Load::http(Call::Length, 1), [4, 14], Target::AtMost(7_000_000.0)),
];

const STDIO_CASES: &[Case] = &[case(
    "`tools/call` echo, 64 in flight",
    Load::stdio(Call::Echo, 64),
    [300, 2300],
    Target::AtMost(25_000.0),
)
.in_session(1.5)];

fn instructions(servers: &[Subject], report: &mut Report) -> Result<()> {
    for case in CASES {
        case.measure("Instructions per request, HTTP", servers, report)?;
    }
    for case in STDIO_CASES {
        case.measure("Instructions per request, stdio", servers, report)?;
    }
    let mut row =
        Row::new("Allocations per request", "`tools/call` echo, 1 connection", Target::AtMost(30.0));
    for server in servers {
        row.add(server.name, valgrind::allocations(server, Load::http(Call::Echo, 1), [100, 600])?);
    }
    report.add(row);
    Ok(())
}

impl Case {
    fn measure(&self, section: &'static str, servers: &[Subject], report: &mut Report) -> Result<()> {
        let Self { name, load, counts, target, in_session } = *self;
        let mut row = Row::new(section, name, target);
        for server in servers {
            row.add(server.name, valgrind::instructions(server, load, counts)?);
        }
        let modern = row.ours();
        report.add(row);
        let Some(times) = in_session else { return Ok(()) };
        let target = Target::AtMost(modern.unwrap_or(f64::NAN) * times);
        let mut row = Row::new(section, &format!("{name}, in a session"), target);
        // The floor has no sessions.
        for server in servers.iter().filter(|server| server.name != "floor") {
            row.add(server.name, valgrind::instructions(server, load.in_session(), counts)?);
        }
        report.add(row);
        Ok(())
    }
}

fn cpu(servers: &[Subject], rounds: usize, report: &mut Report) -> Result<()> {
    // The load gets the second core; the servers are started on the first.
    subject::pin_self("1");
    let outcome = timed(servers, rounds, report);
    subject::pin_self("0-63");
    outcome
}

fn timed(servers: &[Subject], rounds: usize, report: &mut Report) -> Result<()> {
    let cases = [
        ("echo, HTTP, 1 connection", Load::http(Call::Echo, 1), 30_000, Target::None),
        ("echo, HTTP, 64 connections", Load::http(Call::Echo, 64), 100_000, Target::TimesFloor(1.6)),
        (
            "`tools/list` of 100, HTTP, 4 connections",
            Load::http(Call::List, 4).of_tools(100),
            20_000,
            Target::None,
        ),
        ("1 MB result, HTTP, 1 connection", Load::http(Call::Blob, 1), 500, Target::None),
        ("1 MB argument, HTTP, 1 connection", Load::http(Call::Length, 1), 500, Target::None),
        ("echo, stdio, 1 in flight", Load::stdio(Call::Echo, 1), 50_000, Target::None),
        ("echo, stdio, 64 in flight", Load::stdio(Call::Echo, 64), 200_000, Target::AtMost(1.0)),
    ];
    for (name, load, requests, target) in cases {
        let runs = rounds_of(servers, rounds, |server| server.timed(load, requests))?;
        record(report, name, target, &runs);
    }
    Ok(())
}

type Runs = Vec<(&'static str, Vec<load::Timed>)>;

/// A B C A B C: what the machine does besides hits all of them alike.
fn rounds_of(
    servers: &[Subject],
    rounds: usize,
    measure: impl Fn(&Subject) -> Result<load::Timed>,
) -> Result<Runs> {
    let mut runs: Runs = servers.iter().map(|server| (server.name, Vec::new())).collect();
    for _ in 0..rounds {
        for (server, run) in servers.iter().zip(&mut runs) {
            run.1.push(measure(server)?);
        }
    }
    Ok(runs)
}

fn record(report: &mut Report, name: &str, target: Target, runs: &Runs) {
    let mut seconds = Row::new("CPU seconds of the server per 100 000 requests", name, target);
    let mut rate = Row::new("Requests per second", name, Target::None);
    for (server, timed) in runs {
        seconds.add(server, median(timed.iter().map(|run| run.cpu_seconds_per_100k)));
        rate.add(server, median(timed.iter().map(|run| run.per_second)));
    }
    report.add(seconds);
    report.add(rate);
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
