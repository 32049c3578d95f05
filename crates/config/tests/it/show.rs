//! A configuration as lines, values included: fixtures hold no real ones.

use switchboard_config::{Config, Problem, SecretString, ServerEntry, Target};

use crate::place::Place;

/// Everything of a configuration.
pub(crate) fn config(config: &Config, place: &Place) -> String {
    let mut lines = Vec::new();
    for entry in &config.servers {
        server(entry, &mut lines);
    }
    for shadowed in &config.shadowed {
        let same = if shadowed.same { ", the same" } else { "" };
        lines.push(format!("shadowed {} at {} by {}{same}", shadowed.name, shadowed.origin, shadowed.by));
    }
    for one in &config.untrusted {
        let name = one.server.as_deref().unwrap_or("the file");
        let changed = if one.changed { ", changed" } else { "" };
        lines.push(format!("untrusted {name} at {}: {}{changed}", one.origin, one.shown));
    }
    for model in &config.models {
        let key = model.key.as_ref().map(SecretString::expose);
        lines.push(format!(
            "model {} at {}: {:?} {:?} {:?} key {key:?} context {:?} vision {:?} max {:?}",
            model.name,
            model.origin,
            model.kind,
            model.base_url,
            model.model,
            model.context,
            model.vision,
            model.max_tokens
        ));
    }
    rest(config, &mut lines);
    lines.extend(config.warnings.iter().map(|notice| format!("warning {notice}")));
    lines.extend(config.problems.iter().map(problem));
    place.plain(&lines.join("\n"))
}

fn rest(config: &Config, lines: &mut Vec<String>) {
    if let Some(model) = &config.default_model {
        lines.push(format!("default model {model}"));
    }
    if let Some(preset) = &config.policy.preset {
        lines.push(format!("preset {preset}"));
    }
    for rule in &config.policy.rules {
        lines.push(format!(
            "rule {:?} {:?} {:?} {:?} at {}",
            rule.action, rule.server, rule.tool, rule.mode, rule.origin
        ));
        lines.extend(rule.annotations.iter().map(|(name, value)| format!("  where {name} is {value}")));
        lines.extend(
            rule.arguments.iter().map(|argument| format!("  {} inside {:?}", argument.path, argument.inside)),
        );
    }
    if config.limits != switchboard_config::LimitsConfig::default() {
        lines.push(format!("{:?}", config.limits));
    }
    if config.listen != switchboard_config::ListenConfig::default() {
        lines.push(format!("{:?}", config.listen));
    }
}

fn server(entry: &ServerEntry, lines: &mut Vec<String>) {
    let state = if entry.enabled { "" } else { ", disabled" };
    lines.push(format!("server {} at {} ({:?}{state})", entry.name, entry.origin, entry.origin.kind));
    lines.push(format!("  shown {}", entry.shown));
    match &entry.target {
        Target::Command { command, args, env, env_file, cwd } => {
            lines.push(format!("  command {command:?} {args:?}"));
            lines.extend(env.iter().map(|(name, value)| format!("  {name}={:?}", value.expose())));
            lines.extend(env_file.iter().map(|file| format!("  env file {}", file.display())));
            lines.extend(cwd.iter().map(|cwd| format!("  in {}", cwd.display())));
        }
        Target::Http { url, headers, transport } => {
            lines.push(format!("  url {url} {transport:?}"));
            lines.extend(headers.iter().map(|(name, value)| format!("  {name}: {:?}", value.expose())));
        }
    }
    let mut settings = Vec::new();
    let mut add =
        |name: &str, value: Option<String>| settings.extend(value.map(|value| format!("{name} {value}")));
    add("era", entry.era.as_ref().map(|era| format!("{era:?}")));
    add("required", entry.required.then(String::new));
    add("lazy", entry.lazy.then(String::new));
    add("idle_stop", entry.idle_stop.map(|time| format!("{time:?}")));
    add("startup", entry.startup_timeout.map(|time| format!("{time:?}")));
    add("idle", entry.idle_timeout.map(|time| format!("{time:?}")));
    add("hard", entry.hard_timeout.map(|time| format!("{time:?}")));
    add("at once", entry.max_concurrency.map(|count| count.to_string()));
    let any = |list: &[String]| (!list.is_empty()).then(|| format!("{list:?}"));
    add("include", any(&entry.tools.include));
    add("exclude", any(&entry.tools.exclude));
    add("rename", (!entry.tools.rename.is_empty()).then(|| format!("{:?}", entry.tools.rename)));
    add("trust", (entry.trust == switchboard_config::Trust::Full).then(|| "full".to_owned()));
    if !settings.is_empty() {
        lines.push(format!("  {}", settings.join(", ")));
    }
}

fn problem(problem: &Problem) -> String {
    let variable = problem.variable.as_ref().map(|variable| format!(" [{variable}]")).unwrap_or_default();
    format!("problem {problem}{variable}\n  hint {}", problem.hint)
}
