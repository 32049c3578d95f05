//! `doctor --model`: tries live what the model can do, and says it.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_agent::visible;
use switchboard_llm::{Outcome, ProbeReport, probe};

use super::{Answering, probed};
use crate::failure::{Exit, Failure};
use crate::kept;
use crate::screen::Screen;
use crate::settings::Settings;

/// Tries the model that would answer.
///
/// # Errors
/// When there is no model to try.
pub(crate) async fn doctor(
    answering: &Answering,
    settings: &Settings,
    screen: &Screen,
) -> Result<ProbeReport, Failure> {
    let Answering { reason, config, .. } = answering;
    let Some(config) = config else {
        let hint = "name one with --model and --base-url, set a key, or start a local model server";
        return Err(Failure::new(Exit::Model, format!("no language model: {reason}"), hint));
    };
    screen.note(&visible::line(reason));
    let report = probe(config).await;
    let kept = kept::store(settings).and_then(|store| {
        probed::keep(&*store, (config, &report), now_ms()).map_err(|error| kept::failure(&error))
    });
    if let Err(failure) = kept {
        failure.explained("what was found out is not kept").report(screen, false);
    }
    Ok(report)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The report for people: one line for each step.
pub(crate) fn render(report: &ProbeReport) -> String {
    let mut text = format!("{} at {}\n", report.model, report.endpoint);
    for step in &report.steps {
        let outcome = match step.outcome {
            Outcome::Pass => "ok",
            Outcome::Fail => "FAILED",
            Outcome::Unsupported => "no",
            _ => "not tried",
        };
        let _ = writeln!(text, "  {:<9} {outcome:<9} {}", step.step, step.said);
    }
    let known = &report.capabilities;
    let number =
        |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    let _ = writeln!(
        text,
        "  schemas {}, context {} tokens, answer {} tokens, pictures {}, calls at once {}, thinks {}",
        known.dialect,
        number(known.context_tokens),
        number(known.max_output_tokens.map(u64::from)),
        yes(known.vision),
        yes(known.parallel_tool_calls),
        yes(known.reasoning),
    );
    text
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
