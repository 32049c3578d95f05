//! `switchboard servers test`: tries servers out step by step, and says which step failed and what to do.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;
use switchboard_agent::ServerName;
use switchboard_agent::supervisor::{Supervisor, TestReport, TestStep};
use switchboard_agent::visible;

use super::fleet::{Begin, Fleet};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::progress;
use crate::screen::Screen;
use crate::settings::Settings;

/// Try servers out, step by step, and say which step fails
///
/// The steps: find the program, start it, agree on a revision, list the tools, measure the latency.
#[derive(Args, Clone, Debug)]
pub(crate) struct TestArgs {
    /// The servers; all that are enabled if none is named
    names: Vec<String>,

    /// How long one server may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

#[derive(Serialize)]
struct Reports<'a> {
    ok: bool,
    servers: &'a [TestReport],
}

/// Runs the command.
pub(crate) async fn command(
    args: &TestArgs,
    settings: &Settings,
    (json, screen): (bool, &Screen),
) -> Result<(), Failure> {
    let fleet = Fleet::new(settings, (&args.names, Begin::WhenTried), screen).await?;
    let limit = Duration::from_secs(args.timeout);
    let reports = fleet
        .and_close(async |supervisor, names| {
            let shown: Vec<&str> = names.iter().map(ServerName::as_str).collect();
            let _waiting = progress::waiting(screen, &format!("trying {}", shown.join(", ")));
            join_all(names.iter().map(|name| one(supervisor, name, limit))).await
        })
        .await?;
    let ok = reports.iter().all(|report| report.ok);
    if json {
        output::json(&Reports { ok, servers: &reports })?;
    } else if !reports.is_empty() {
        output::text(&reports.iter().map(render).collect::<String>())?;
    }
    if reports.is_empty() {
        screen.note("there is no server to try");
        screen.hint("add one with: switchboard servers add");
    }
    verdict(&reports)
}

/// Tries one server, for so long.
pub(crate) async fn one(supervisor: &Supervisor, name: &ServerName, limit: Duration) -> TestReport {
    let failed = |message: String| TestReport {
        name: name.clone(),
        ok: false,
        steps: vec![TestStep {
            step: "start".to_owned(),
            ok: false,
            took_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            detail: message,
        }],
        next_step: Some(
            "allow more time with --timeout, or see with `switchboard servers logs` what it does".to_owned(),
        ),
        login_needed: false,
    };
    match tokio::time::timeout(limit, supervisor.test(name)).await {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => failed(error.to_string()),
        Err(_) => failed(format!("it was not done within {} s", limit.as_secs())),
    }
}

/// The report for people.
pub(crate) fn render(report: &TestReport) -> String {
    let mut text = format!("{}: {}\n", report.name, if report.ok { "works" } else { "does not work" });
    for TestStep { step, ok, took_ms, detail } in &report.steps {
        let outcome = if *ok { "ok" } else { "FAILED" };
        let detail = visible::text(detail).replace('\n', "\n    ");
        let _ = writeln!(text, "  {step:<8} {outcome:<7} {took_ms:>6} ms  {detail}");
    }
    if let Some(next) = &report.next_step {
        let _ = writeln!(text, "  next: {}", visible::text(next).replace('\n', "\n    "));
    }
    text
}

/// How the program ends.
pub(crate) fn verdict(reports: &[TestReport]) -> Result<(), Failure> {
    let failed: Vec<&TestReport> = reports.iter().filter(|report| !report.ok).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let exit = if failed.iter().all(|report| report.login_needed) { Exit::Login } else { Exit::Unreachable };
    let last = first.steps.last();
    let (step, detail) = last.map_or(("start", ""), |last| (last.step.as_str(), last.detail.as_str()));
    let hint = first.next_step.clone().unwrap_or_default();
    if failed.len() == 1 {
        return Err(Failure::new(exit, format!("{step}: {detail}"), hint).on_server(first.name.as_str()));
    }
    let names: Vec<_> = failed.iter().map(|report| report.name.as_str()).collect();
    let message = format!("{} of {} servers do not work: {}", failed.len(), reports.len(), names.join(", "));
    Err(Failure::new(exit, message, "see above what failed, and what to do next"))
}
