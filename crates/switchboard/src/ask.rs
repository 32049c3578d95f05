//! Questions on a terminal: consent to a call, and values that a question does not hold.
//!
//! What is shown comes from the agent (`Approval::render`, `Missing::render`), which leaves nothing out; this file only
//! asks.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use switchboard_agent::policy::{Approval, Choice, Consent, ConsentReply};
use switchboard_agent::{Ask, Missing, Router};
use tokio::sync::{Mutex, MutexGuard};

use crate::screen::Screen;
use crate::stdin;

/// How often an answer that is none is asked again before it counts as a no.
const MAX_TRIES: u32 = 3;

/// There is one terminal, and one question at a time.
static ASKING: Mutex<()> = Mutex::const_new(());

/// Waits until nobody else asks.
pub(crate) async fn turn() -> MutexGuard<'static, ()> {
    ASKING.lock().await
}

/// Asks the person at the terminal.
#[derive(Debug)]
pub(crate) struct TerminalConsent(Screen);

impl TerminalConsent {
    pub(crate) fn new(screen: Screen) -> Self {
        Self(screen)
    }

    async fn choose(&self, approval: &Approval) -> Choice {
        let Self(screen) = self;
        let _one_at_a_time = turn().await;
        let _still = screen.still();
        screen.line("");
        screen.line(approval.render().trim_end());
        for _ in 0..MAX_TRIES {
            screen.ask(&screen.strong("  [y] once   [r] for this run   [n] no: "));
            let Some(answer) = stdin::line().await else { return Choice::Unanswered };
            screen.answered();
            if let Some(choice) = read(&answer) {
                return choice;
            }
            screen.line("  Answer y, r or n.");
        }
        Choice::Deny
    }
}

fn read(answer: &str) -> Option<Choice> {
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" | "o" | "once" => Some(Choice::AllowOnce),
        "r" | "run" => Some(Choice::AllowRun),
        "n" | "no" => Some(Choice::Deny),
        _ => None,
    }
}

impl Consent for TerminalConsent {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        self.choose(approval).map(|choice| approval.reply(choice)).boxed()
    }
}

/// The router, which asks for what it misses where somebody can be asked.
pub(crate) fn router(screen: &Screen) -> Router {
    if stdin::can_ask() { Router::new().ask(TerminalAsk(screen.clone())) } else { Router::new() }
}

/// Asks the person for a value.
struct TerminalAsk(Screen);

impl Ask for TerminalAsk {
    fn ask<'a>(&'a self, missing: &'a Missing) -> BoxFuture<'a, Option<String>> {
        let answer = async move {
            let _one_at_a_time = turn().await;
            let _still = self.0.still();
            self.0.ask(&format!("{} ", missing.render()));
            let answer = stdin::line().await?;
            self.0.answered();
            Some(answer).filter(|answer| !answer.trim().is_empty())
        };
        answer.boxed()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agent::policy::Choice;

    use super::read;

    #[test]
    fn only_a_clear_word_is_an_answer() {
        for (answer, choice) in [
            ("y", Some(Choice::AllowOnce)),
            (" YES ", Some(Choice::AllowOnce)),
            ("r", Some(Choice::AllowRun)),
            ("no", Some(Choice::Deny)),
            ("", None),
            ("yn", None),
            ("sure", None),
        ] {
            assert_eq!(read(answer), choice, "{answer:?}");
        }
    }
}
