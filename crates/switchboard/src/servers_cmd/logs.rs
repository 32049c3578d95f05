//! `switchboard servers logs`: what a server wrote, and what was done with it, in this and in other processes.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use switchboard_agent::supervisor::LogLine;
use switchboard_agent::visible;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::Screen;
use crate::server_logs;
use crate::settings::{Settings, nearest};

/// Show what a server wrote, and when it was started and ended
///
/// What it wrote to stderr, and the lines on its stdout that are no messages.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogsArgs {
    /// The server
    name: String,

    /// How many lines, at most
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    lines: usize,
}

#[derive(Serialize)]
struct Log<'a> {
    server: &'a str,
    lines: &'a [LogLine],
}

/// Runs the command.
pub(crate) fn command(
    args: &LogsArgs,
    settings: &Settings,
    (json, screen): (bool, &Screen),
) -> Result<(), Failure> {
    let data_dir = &settings.paths()?.data_dir;
    let lines = server_logs::read(data_dir, &args.name, args.lines).map_err(|error| {
        let message = format!("the log in {} cannot be read: {error}", data_dir.display());
        Failure::new(Exit::Usage, message, "check the permissions of the folder").on_server(&args.name)
    })?;
    if lines.is_empty() {
        known(&args.name, settings)?;
        screen.note("nothing was written yet");
        screen.hint(&format!("start it with: switchboard servers test {}", visible::argument(&args.name)));
    }
    if json {
        return output::json(&Log { server: &args.name, lines: &lines });
    }
    output::text(&render(&lines))
}

/// A server of the configuration, whether it can be used or not.
fn known(name: &str, settings: &Settings) -> Result<(), Failure> {
    let config = settings.config();
    let servers = config.servers.iter().map(|server| server.name.as_str());
    let broken = config.broken.iter().map(|server| server.name.as_str());
    let untrusted = config.untrusted.iter().filter_map(|one| one.server.as_deref());
    let all: Vec<&str> = servers.chain(broken).chain(untrusted).collect();
    if all.contains(&name) {
        return Ok(());
    }
    let hint = match nearest(name, &all) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => "see what there is with: switchboard servers list".to_owned(),
    };
    Err(Failure::usage(format!("no server is called {name:?}"), hint))
}

fn render(lines: &[LogLine]) -> String {
    let mut text = String::new();
    for LogLine { unix_ms, stream, text: said } in lines {
        let said = visible::text(said).replace('\n', "\n    ");
        let _ = writeln!(text, "{} {:<6} {said}", time(*unix_ms), stream.as_str());
    }
    text
}

/// Date and time in UTC, to the second.
fn time(unix_ms: u64) -> String {
    let (seconds, days) = (unix_ms / 1000 % 86_400, unix_ms / 1000 / 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The date so many days after 1970-01-01, by years of March, in which the day that leaps comes last.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_dates_that_people_read() {
        for (unix_ms, expected) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_785_283_199_999, "2026-07-28 23:59:59Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(time(unix_ms), expected);
        }
    }
}
