//! `switchboard doctor`: looks at everything that a run needs, and says what to do about what is missing.
//!
//! Each look is in `doctor/checks.rs` and changes nothing; trying servers out is `servers test`, trying a model out is
//! `model`.

mod checks;

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;
use switchboard_agent::supervisor::TestReport;
use switchboard_agent::visible;

use crate::failure::{Exit, Failure};
use crate::interrupt::Stop;
use crate::model::{self, Answering, ModelArgs, Unusable};
use crate::output;
use crate::screen::Screen;
use crate::servers_cmd::fleet::{Begin, Fleet};
use crate::servers_cmd::test;
use crate::settings::Settings;

/// Look at everything that a run needs, and say what to do about what fails
#[derive(Args, Clone, Debug)]
pub(crate) struct DoctorArgs {
    /// How long one server may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,

    /// Do not start or ask any server
    #[arg(long)]
    no_servers: bool,

    /// Also try out what the language model that would answer can do; that sends it a few short requests. Names as with
    /// `run`
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    model: Option<String>,

    /// Base URL of an endpoint with language models, as with `run`
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
}

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    /// As it should be.
    Ok,
    /// It stops nothing.
    Warning,
    /// Something does not work.
    Failed,
}

/// One look at something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) check: String,
    pub(crate) health: Health,
    pub(crate) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_step: Option<String>,
}

impl Finding {
    pub(crate) fn ok(check: &str, detail: impl Into<String>) -> Self {
        Self { check: check.to_owned(), health: Health::Ok, detail: detail.into(), next_step: None }
    }

    pub(crate) fn warning(check: &str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self { health: Health::Warning, next_step: Some(next.into()), ..Self::ok(check, detail) }
    }

    pub(crate) fn failed(check: &str, detail: impl Into<String>, next: impl Into<String>) -> Self {
        Self { health: Health::Failed, ..Self::warning(check, detail, next) }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    findings: &'a [Finding],
    servers: &'a [TestReport],
    /// Which model would answer; what is wrong with it is in the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Answering>,
    /// What it can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<switchboard_llm::ProbeReport>,
}

/// Runs the command.
pub(crate) async fn command(
    args: &DoctorArgs,
    settings: &Settings,
    (json, screen): (bool, &Screen),
) -> Result<(), Failure> {
    let stop = Stop::listen()?;
    let mut findings = stop.unless(async { Ok(checks::all(settings).await) }).await?;
    let which = args.model.clone().filter(|name| !name.is_empty());
    let which = ModelArgs::of(which, args.base_url.clone());
    let found = async { Ok(Answering::find(&which, settings).await) };
    let (answering, unusable) = stop.unless(found).await?;
    findings.extend(models(&answering, unusable));
    if !json {
        output::text(&render(&findings))?;
    }
    let servers = match args.no_servers {
        true => Vec::new(),
        false => servers(args, settings, screen).await?,
    };
    if !json {
        output::text(&servers.iter().map(test::render).collect::<String>())?;
    }
    let (answering, probed) = match (answering, &args.model) {
        (Err(failure), Some(_)) => return Err(failure),
        (answering, None) => (answering.ok(), None),
        (Ok(answering), Some(_)) => {
            let report = stop.unless(model::doctor(&answering, settings, screen)).await?;
            (Some(answering), Some(report))
        }
    };
    if let (Some(report), false) = (&probed, json) {
        output::text(&model::render(report))?;
    }
    let ended = verdict(&findings, &servers);
    if json {
        output::json(&Report {
            ok: ended.is_ok(),
            findings: &findings,
            servers: &servers,
            model: answering.as_ref(),
            probe: probed,
        })?;
    }
    ended
}

/// Who would answer, and the models that cannot.
fn models(answering: &Result<Answering, Failure>, unusable: Vec<Unusable>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        unusable.into_iter().map(|(what, next)| Finding::warning("model", what, next)).collect();
    findings.push(match answering.as_ref().map(Answering::said) {
        Ok((said, None)) => Finding::ok("model", said),
        Ok((said, Some(next))) => Finding::warning("model", said, next),
        Err(failure) => Finding::failed("model", failure.cause(), failure.hint()),
    });
    findings
}

async fn servers(
    args: &DoctorArgs,
    settings: &Settings,
    screen: &Screen,
) -> Result<Vec<TestReport>, Failure> {
    let fleet = Fleet::new(settings, (&[], Begin::WhenTried), screen).await?;
    let limit = Duration::from_secs(args.timeout);
    fleet
        .and_close(async |supervisor, names| {
            join_all(names.iter().map(|name| test::one(supervisor, name, limit))).await
        })
        .await
}

fn render(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, health, detail, next_step } in findings {
        let health = match health {
            Health::Ok => "ok",
            Health::Warning => "warning",
            Health::Failed => "FAILED",
        };
        let _ = writeln!(text, "{health:<8} {check}: {}", visible::text(detail).replace('\n', "\n    "));
        if let Some(next) = next_step {
            let _ = writeln!(text, "         next: {}", visible::text(next).replace('\n', "\n    "));
        }
    }
    text
}

/// A configuration that cannot work comes before a server that does not.
fn verdict(findings: &[Finding], servers: &[TestReport]) -> Result<(), Failure> {
    let failed: Vec<&Finding> = findings.iter().filter(|one| one.health == Health::Failed).collect();
    match failed.as_slice() {
        [] => test::verdict(servers),
        [one] => {
            let hint = one.next_step.clone().unwrap_or_default();
            Err(Failure::new(Exit::Usage, format!("{}: {}", one.check, one.detail), hint))
        }
        several => {
            let checks: Vec<&str> = several.iter().map(|one| one.check.as_str()).collect();
            let message = format!("{} things do not work: {}", several.len(), checks.join(", "));
            Err(Failure::new(Exit::Usage, message, "see above what to do about each"))
        }
    }
}
