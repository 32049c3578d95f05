//! `switchboard servers status`: starts the servers, and says how they are.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use futures_util::future::join;
use serde::Serialize;
use switchboard_agent::supervisor::{ServerState, ServerStatus};
use switchboard_agent::visible;
use switchboard_config::{Broken, Untrusted};

use super::fleet::{self, Begin, Fleet};
use crate::consent;
use crate::failure::{Exit, Failure};
use crate::model::Answering;
use crate::output;
use crate::screen::Screen;
use crate::settings::Settings;

/// Start servers and say how they are
///
/// State, revision, identity, latency, tools and what these cost the model that would answer in tokens, the last error and what to do about
/// it. The exit code is not 0 if one of them does not work.
#[derive(Args, Clone, Debug)]
pub(crate) struct StatusArgs {
    /// The servers; all of the configuration if none is named
    names: Vec<String>,

    /// How long to wait for servers that are starting, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
}

/// What is said of one that is not there yet.
const STARTING: &str = "it is still starting";
const MORE_TIME: &str = "allow more time with --timeout";

#[derive(Serialize)]
struct Report<'a> {
    servers: &'a [ServerStatus],
    untrusted: Vec<&'a Untrusted>,
    broken: Vec<&'a Broken>,
}

/// Runs the command.
pub(crate) async fn command(
    args: &StatusArgs,
    settings: &Settings,
    (json, screen): (bool, &Screen),
) -> Result<(), Failure> {
    let fleet = Fleet::new(settings, (&args.names, Begin::AtOnce), screen).await?;
    let limit = Duration::from_secs(args.timeout);
    let mut servers = fleet
        .and_close(async |supervisor, _| {
            let (dialect, ()) =
                join(Answering::dialect(settings), fleet::ready(supervisor, limit, screen)).await;
            supervisor.measure_for(dialect);
            supervisor.status()
        })
        .await?;
    let config = settings.all();
    if args.names.is_empty() {
        let disabled = config.servers.iter().filter(|server| !server.enabled);
        servers.extend(disabled.filter_map(disabled_status));
    }
    let is_meant =
        |name: Option<&String>| args.names.is_empty() || name.is_some_and(|name| args.names.contains(name));
    let untrusted = config.untrusted.iter().filter(|one| is_meant(one.server.as_ref()));
    let broken: Vec<&Broken> = config.broken.iter().filter(|one| is_meant(Some(&one.name))).collect();
    let verdict = verdict(&servers, &broken);
    if json {
        output::json(&Report { servers: &servers, untrusted: untrusted.collect(), broken })?;
    } else if servers.is_empty() {
        screen.note("no server can be started");
        let is_known = consent::configured(settings).next().is_some();
        screen.hint(match is_known {
            true => "see what there is with: switchboard servers list",
            false => "add one with: switchboard servers add",
        });
    } else {
        output::text(&table(&servers))?;
    }
    verdict
}

/// How the program ends: as a run that needs all of these servers would.
fn verdict(servers: &[ServerStatus], broken: &[&Broken]) -> Result<(), Failure> {
    let fails =
        |server: &&ServerStatus| server.state == ServerState::Failed || fleet::is_on_its_way(server.state);
    let failed: Vec<&ServerStatus> = servers.iter().filter(fails).collect();
    let names = failed.iter().map(|server| server.name.as_str());
    let names: Vec<&str> = names.chain(broken.iter().map(|one| one.name.as_str())).collect();
    let exit = match failed.as_slice() {
        [] => Exit::Usage,
        failed if failed.iter().all(|server| server.login_needed) => Exit::Login,
        _ => Exit::Unreachable,
    };
    match (failed.as_slice(), broken, names.len()) {
        (_, _, 0) => Ok(()),
        ([one], [], _) => {
            let why = one.last_error.clone().unwrap_or_else(|| STARTING.to_owned());
            let hint = one.next_step.clone().unwrap_or_else(|| MORE_TIME.to_owned());
            Err(Failure::new(exit, why, hint).on_server(one.name.as_str()))
        }
        ([], [one], _) => Err(Failure::usage(&one.reason, &one.hint).on_server(&one.name)),
        (_, _, count) => {
            let all = servers.iter().filter(|server| server.state != ServerState::Disabled).count();
            let all = all + broken.len();
            let message = format!("{count} of {all} servers do not work: {}", names.join(", "));
            Err(Failure::new(exit, message, "see above what failed, and what to do next"))
        }
    }
}

fn disabled_status(entry: &switchboard_config::ServerEntry) -> Option<ServerStatus> {
    let name = switchboard_agent::ServerName::new(&entry.name).ok()?;
    let word = visible::argument(&entry.name);
    Some(ServerStatus {
        origin: entry.origin.to_string(),
        next_step: Some(format!("switchboard servers enable {word}")),
        ..ServerStatus::disabled(name)
    })
}

/// One line a server, and what is wrong with it below.
pub(super) fn table(servers: &[ServerStatus]) -> String {
    let rows: Vec<[String; 6]> = servers.iter().map(cells).collect();
    let header = ["server", "state", "revision", "tools", "tokens", "latency"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&header]).map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |row: &[String; 6]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| visible::padded(cell, *width));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(&header);
    for (server, row) in servers.iter().zip(&rows) {
        line(row);
        for detail in details(server) {
            line(&[
                format!("  {detail}"),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    }
    text
}

fn cells(server: &ServerStatus) -> [String; 6] {
    let number = |number: Option<usize>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    let revision = match (&server.revision, server.era.as_deref()) {
        (Some(revision), Some("legacy")) => format!("{revision} (legacy)"),
        (Some(revision), _) => revision.clone(),
        (None, _) => "–".to_owned(),
    };
    [
        visible::line(server.name.as_str()),
        server.state.as_str().to_owned(),
        revision,
        server.tools_shown().unwrap_or_else(|| "–".to_owned()),
        number(server.token_cost),
        server.latency_ms.map_or_else(|| "–".to_owned(), |latency| format!("{latency} ms")),
    ]
}

fn details(server: &ServerStatus) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(identity) = &server.identity {
        details.push(format!(
            "{} over {}, from {}",
            visible::short(identity, 100),
            server.transport,
            server.origin
        ));
    } else {
        details.push(format!("from {}", server.origin));
    }
    if server.noise_lines > 0 {
        details.push(format!(
            "{} lines on its standard output are no messages and were skipped",
            server.noise_lines
        ));
    }
    if server.state == ServerState::Starting {
        details.push(format!("{STARTING}; {MORE_TIME}"));
    }
    if let Some(error) = &server.last_error {
        details.push(format!("error: {}", visible::text(error).replace('\n', "\n    ")));
    }
    if let Some(next) = &server.next_step {
        details.push(format!("next: {}", visible::text(next).replace('\n', "\n    ")));
    }
    details
}
