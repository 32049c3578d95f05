//! The rules of the configuration as rules of the policy.
//!
//! `switchboard_config` reads them and knows their places; `switchboard_agent::policy` knows what they mean.

use switchboard_agent::policy::{ArgumentTest, InvalidArgumentTest, Preset, Rule};
use switchboard_agent::visible;
use switchboard_config::{ArgumentRule, Config, OriginKind, Problem, RuleAction, RuleConfig, RuleMode};

use crate::failure::Failure;

/// The rules, each with the place that it comes from.
///
/// # Errors
/// The first rule that is none, with its place; or that a file of ours, which may hold rules, cannot be read. To go on
/// without its rules would be to allow what they deny.
pub(crate) fn rules(config: &Config) -> Result<Vec<(Rule, String)>, Failure> {
    if let Some(problem) = config.problems.iter().find(|problem| is_about_rules(problem)) {
        return Err(Failure::usage(problem.to_string(), problem.hint.clone()));
    }
    config.policy.rules.iter().map(|rule| Ok((read(rule)?, rule.origin.to_string()))).collect()
}

/// Whether it may be about rules: it is no server's, and of no other part of a file of ours.
fn is_about_rules(problem: &Problem) -> bool {
    let message = &problem.message;
    let is_of_another_part =
        message.starts_with("the model ") || (message.starts_with('[') && !message.starts_with("[policy"));
    problem.origin.kind == OriginKind::Native && problem.server.is_none() && !is_of_another_part
}

/// What is done where no rule is.
pub(crate) fn preset(config: &Config) -> Result<Preset, Failure> {
    let Some(name) = &config.policy.preset else { return Ok(Preset::default()) };
    name.parse().map_err(|error: switchboard_agent::policy::UnknownPreset| {
        Failure::usage(error.to_string(), "correct policy.preset in the configuration")
    })
}

fn read(config: &RuleConfig) -> Result<Rule, Failure> {
    let server = config.server.as_deref().unwrap_or("*");
    let tool = config.tool.as_deref().unwrap_or("*");
    let action = match config.action {
        RuleAction::Allow => "allow",
        RuleAction::Ask => "ask",
        RuleAction::Deny => "deny",
    };
    let invalid = |problem: String| {
        let rule = visible::line(&format!("{action} {server}/{tool}"));
        let message = format!("{}: the rule `{rule}`: {problem}", config.origin);
        Failure::usage(message, "correct the rule, or remove it")
    };
    let annotations: serde_json::Map<_, _> =
        config.annotations.iter().map(|(name, wanted)| (hint(name), (*wanted).into())).collect();
    let form = serde_json::json!({
        "action": action,
        "server": server,
        "tool": tool,
        "annotations": annotations,
        "mode": config.mode.map(|mode| match mode {
            RuleMode::Interactive => "interactive",
            RuleMode::Headless => "headless",
        }),
        "principal": config.principal,
        "reason": config.reason,
    });
    let mut rule: Rule = serde_json::from_value(form).map_err(|error| invalid(error.to_string()))?;
    for argument in &config.arguments {
        let tests = tests(argument).map_err(|error| invalid(error.to_string()))?;
        if tests.is_empty() {
            // It would hold for every call.
            let path = visible::quoted(&argument.path, 64);
            let parts = "give inside, host_in, equals, matches or max_bytes";
            return Err(invalid(format!("the test of {path} says nothing: {parts}")));
        }
        rule = tests.into_iter().fold(rule, Rule::and);
    }
    Ok(rule)
}

/// The annotation by its short name; that of the protocol is one, too.
fn hint(name: &str) -> String {
    match name {
        "readOnlyHint" => "read_only",
        "destructiveHint" => "destructive",
        "idempotentHint" => "idempotent",
        "openWorldHint" => "open_world",
        other => other,
    }
    .to_owned()
}

/// Every part of a test is a test of its own: all must hold.
fn tests(argument: &ArgumentRule) -> Result<Vec<ArgumentTest>, InvalidArgumentTest> {
    let ArgumentRule { path, inside, host_in, equals, matches, max_bytes } = argument;
    let mut tests = Vec::new();
    if !inside.is_empty() {
        tests.push(ArgumentTest::inside(path, inside.clone())?);
    }
    if !host_in.is_empty() {
        tests.push(ArgumentTest::host_in(path, host_in.clone())?);
    }
    if let Some(value) = equals {
        tests.push(ArgumentTest::equals(path, value.clone())?);
    }
    if let Some(pattern) = matches {
        tests.push(ArgumentTest::matches(path, pattern)?);
    }
    if let Some(bytes) = max_bytes {
        tests.push(ArgumentTest::max_bytes(path, *bytes)?);
    }
    Ok(tests)
}
