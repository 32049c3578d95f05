//! `servers list`: one line a server, whatever its state.

use serde::Serialize;
use switchboard_agent::visible;
use switchboard_config::{Config, Notice, Origin, Problem, ServerEntry, Shadowed, Untrusted};

use super::View;
use crate::failure::Failure;
use crate::output;
use crate::settings::names_server;

/// The whole list with `--json`.
#[derive(Serialize)]
struct List<'a> {
    servers: Vec<Row>,
    warnings: &'a [Notice],
    problems: &'a [Problem],
}

/// One server.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) state: &'static str,
    target: String,
    kind: &'static str,
    origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Row {
    fn new(name: &str, state: &'static str, (target, origin): (&str, &Origin)) -> Self {
        let kind = origin.kind.label();
        let (name, target, origin) = (name.to_owned(), target.to_owned(), origin.clone());
        Self { name, state, target, kind, origin, reason: None, hint: None }
    }

    fn because(mut self, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        (self.reason, self.hint) = (Some(reason.into()), Some(hint.into()));
        self
    }

    fn of_entry(entry: &ServerEntry) -> Self {
        let state = if entry.enabled { "enabled" } else { "disabled" };
        Self::new(&entry.name, state, (&entry.shown, &entry.origin))
    }

    fn of_untrusted(one: &Untrusted) -> Option<Self> {
        let name = one.server.as_ref()?;
        let reason =
            if one.changed { "it has changed since it was trusted" } else { "it comes with the project" };
        let hint = format!("switchboard servers trust {}", visible::argument(name));
        Some(Self::new(name, "untrusted", (&one.shown, &one.origin)).because(reason, hint))
    }

    fn of_shadowed(one: &Shadowed) -> Self {
        let same = if one.same { ", which says the same" } else { "" };
        let reason = format!("the one of {} is used{same}", one.by);
        Self::new(&one.name, "shadowed", (&one.shown, &one.origin))
            .because(reason, "give one of them another name")
    }
}

/// All servers of all files.
pub(super) fn rows(config: &Config) -> Vec<Row> {
    let mut rows: Vec<Row> = config.servers.iter().map(Row::of_entry).collect();
    rows.extend(config.untrusted.iter().filter_map(Row::of_untrusted));
    for problem in &config.problems {
        let Some(name) = &problem.server else { continue };
        let broken = config.broken.iter().find(|broken| broken.name == *name);
        let shown = broken.map_or("", |broken| broken.shown.as_str());
        rows.push(
            Row::new(name, "broken", (shown, &problem.origin)).because(&problem.message, &problem.hint),
        );
    }
    rows.extend(config.shadowed.iter().map(Row::of_shadowed));
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

impl View<'_> {
    pub(super) fn list(&self) -> Result<(), Failure> {
        let config = self.settings.all();
        config
            .servers
            .iter()
            .flat_map(|server| &server.secrets)
            .filter(|secret| !names_server(&config, secret))
            .for_each(|secret| self.screen.mask(secret.expose()));
        let rows = rows(&config);
        if self.json {
            let (warnings, problems) = (&config.warnings, &config.problems);
            return output::json(&List { servers: rows, warnings, problems });
        }
        for notice in &config.warnings {
            self.screen.warning(&notice.to_string());
        }
        for problem in config.problems.iter().filter(|problem| problem.server.is_none()) {
            self.screen.warning(&problem.to_string());
            self.screen.hint(&problem.hint);
        }
        for one in config.untrusted.iter().filter(|one| one.server.is_none()) {
            self.screen
                .warning(&format!("{}: not trusted yet, and counts for nothing: {}", one.origin, one.shown));
            self.screen.hint("look at it, then: switchboard servers trust --all");
        }
        output::text(&table(&rows))
    }
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no servers; add one with: switchboard servers add NAME -- CMD ARGS".to_owned();
    }
    let width =
        |text: fn(&Row) -> &str| rows.iter().map(|row| text(row).chars().count()).max().unwrap_or_default();
    let (names, states) = (width(|row| &row.name).min(40), width(|row| row.state));
    let mut lines = Vec::new();
    for row in rows {
        let name = visible::padded(&visible::line(&row.name), names);
        let target = visible::line(&row.target);
        lines.push(format!("{name}  {}  {target}", visible::padded(row.state, states)).trim_end().to_owned());
        let indent = " ".repeat(names + 2);
        lines.push(format!("{indent}{} ({})", row.origin, row.kind));
        if let Some(reason) = &row.reason {
            lines.push(format!("{indent}{}", visible::line(reason)));
        }
        if let Some(hint) = &row.hint {
            lines.push(format!("{indent}{}", visible::line(hint)));
        }
    }
    lines.join("\n")
}
