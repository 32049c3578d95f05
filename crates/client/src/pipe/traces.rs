//! What can be seen of a server behind a pipe that gave no answer, and how long it is waited for.

use std::process::ExitStatus;
use std::time::Duration;

use switchboard_transport::Disconnected;
use tokio::time::{Instant, sleep_until};

/// How much of the end of stderr goes into an error, in characters.
const STDERR_CHARS: usize = 600;

/// What there is to see of a server.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    /// Why the connection ended, if it did.
    pub(crate) end: Option<Disconnected>,
    /// How the process ended, if there is one that did.
    pub(crate) status: Option<ExitStatus>,
    /// The end of what it wrote to stderr; `None` if it is no process.
    pub(crate) stderr: Option<String>,
    /// The first of the lines that are no messages, and how many there were.
    pub(crate) noise: (String, u64),
}

/// The end of a text that a program wrote for people, fit for a terminal.
pub(super) fn tail(said: &str) -> String {
    let said = said.trim();
    let skip = said.chars().count().saturating_sub(STDERR_CHARS);
    let mut shown = String::new();
    for character in said.chars().skip(skip) {
        if character == '\n' {
            shown.push('\n');
        } else {
            crate::visible::push(&mut shown, character);
        }
    }
    shown
}

/// Waits until nothing was heard for `patience`; `last` tells when something was.
pub(super) async fn quiet<F>(patience: Duration, mut last: impl FnMut() -> F)
where
    F: Future<Output = Option<Instant>>,
{
    let started = Instant::now();
    loop {
        let heard = last().await.map_or(started, |at| at.max(started));
        // A time beyond what a clock can hold never comes.
        let Some(over) = heard.checked_add(patience) else { return std::future::pending().await };
        if Instant::now() >= over {
            return;
        }
        sleep_until(over).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Signs of life at these times, in milliseconds, and when a patience of a second is over.
    const LIVES: &[(&[u64], u64)] = &[
        (&[], 1000),
        (&[0], 1000),
        (&[10], 1010),
        (&[900, 1800], 2800),
        (&[900, 1950], 1900),
        (&[400, 800, 1200, 1600, 2000, 2400], 3400),
    ];

    #[test]
    fn what_a_program_wrote_for_people_hides_nothing() {
        assert_eq!(tail(" one\ntwo \u{1b}[2J\u{202e}\u{9b}\n"), "one\ntwo \\u{1b}[2J\\u{202e}\\u{9b}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_shows_signs_of_life_is_waited_for() {
        for (signs, over) in LIVES {
            let started = Instant::now();
            let last = || {
                let now = started.elapsed().as_millis();
                let heard = signs.iter().rev().find(|sign| u128::from(**sign) <= now);
                std::future::ready(heard.map(|sign| started + Duration::from_millis(*sign)))
            };
            quiet(Duration::from_secs(1), last).await;
            assert_eq!(started.elapsed(), Duration::from_millis(*over), "{signs:?}");
        }
    }
}
