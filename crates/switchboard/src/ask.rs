//! Questions on a terminal: consent to a call, and values that a question does not hold.
//!
//! What is shown and offered comes from the agent (`Approval::view`, `Missing::render`); this file only asks.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use switchboard_agent::policy::{Approval, ApprovalView, Choice, Consent, ConsentReply, Offer};
use switchboard_agent::{Ask, Missing, Router, visible};
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
}

/// Shows a question and reads the answer. Nothing if the person left.
pub(crate) async fn choose(view: &ApprovalView, screen: &Screen) -> Option<ConsentReply> {
    let _one_at_a_time = turn().await;
    let _still = screen.still();
    let keys = Keys::of(view);
    let reply = |choice, rule| ConsentReply { shown: view.digest, choice, rule };
    screen.line("");
    screen.line(view.render(false).trim_end());
    let mut tries = 0;
    while tries < MAX_TRIES {
        let (above, prompt) = keys.prompt(screen.size().1);
        above.iter().for_each(|line| screen.line(&screen.strong(line)));
        screen.ask(&screen.strong(&format!("{prompt}: ")));
        let answer = stdin::line().await?;
        screen.answered();
        match keys.read(&answer) {
            Some(Answer::Offer(offer)) => return Some(reply(offer.choice, offer.rule.clone())),
            Some(Answer::Everything) => screen.line(view.render(true).trim_end()),
            None => {
                tries += 1;
                screen.line(&format!("  Answer {}.", keys.listed()));
            }
        }
    }
    Some(reply(Choice::Deny, None))
}

/// What may be typed at a question, and what it means.
struct Keys<'a> {
    offers: Vec<(&'static str, &'a Offer)>,
    /// Whether there is more to be shown.
    is_shortened: bool,
}

/// What was typed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer<'a> {
    Offer(&'a Offer),
    /// Show what was shortened.
    Everything,
}

impl<'a> Keys<'a> {
    fn of(view: &'a ApprovalView) -> Self {
        let key = |offer: &Offer| match offer.choice {
            _ if offer.rule.as_ref().is_some_and(|rule| !rule.is_any()) => "o",
            Choice::AllowOnce => "y",
            Choice::AllowRun => "r",
            Choice::AllowSession => "s",
            Choice::AllowAlways => "a",
            Choice::Deny | Choice::Unanswered => "n",
        };
        let offers = view.offers.iter().map(|offer| (key(offer), offer)).collect();
        Self { offers, is_shortened: view.preview.is_some() }
    }

    /// All answers on one line if they fit so many columns, else one a line; the cursor stands behind the last line.
    fn prompt(&self, columns: usize) -> (Vec<String>, String) {
        let mut shown: Vec<String> = self
            .offers
            .iter()
            .map(|(key, offer)| format!("[{key}] {}", visible::line(&offer.label)))
            .collect();
        if self.is_shortened {
            shown.insert(0, "[e] show everything".to_owned());
        }
        let line = format!("  {}", shown.join("   "));
        // Behind it stands what is typed.
        if console::measure_text_width(&line) + ": y".len() < columns {
            return (Vec::new(), line);
        }
        let mut lines: Vec<String> = shown.iter().map(|answer| format!("  {answer}")).collect();
        let last = lines.pop().unwrap_or_default();
        (lines, last)
    }

    /// The keys in words.
    fn listed(&self) -> String {
        let mut keys: Vec<&str> = self.offers.iter().map(|(key, _)| *key).collect();
        let last = keys.pop().unwrap_or("n");
        format!("{} or {last}", keys.join(", "))
    }

    fn read(&self, answer: &str) -> Option<Answer<'a>> {
        let answer = answer.trim().to_lowercase();
        let key = match answer.as_str() {
            "yes" | "once" => "y",
            "run" => "r",
            "session" => "s",
            "always" => "a",
            "only" => "o",
            "no" => "n",
            "e" | "everything" if self.is_shortened => return Some(Answer::Everything),
            other => other,
        };
        self.offers.iter().find(|(offered, _)| *offered == key).map(|(_, offer)| Answer::Offer(offer))
    }
}

impl Consent for TerminalConsent {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        let asked = async move {
            let view = approval.view();
            let reply = choose(&view, &self.0).await;
            reply.unwrap_or_else(|| approval.reply(Choice::Unanswered))
        };
        asked.boxed()
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
    use serde_json::json;
    use switchboard_agent::policy::{ApprovalView, Choice};

    use super::{Answer, Keys};

    fn view(offers: &[(&str, bool)], preview: bool) -> ApprovalView {
        let offer = |(choice, narrow): &(&str, bool)| {
            let lasts = !matches!(*choice, "allow_once" | "deny");
            let rule = if *narrow { json!([{ "path": "path", "inside": "/docs" }]) } else { json!([]) };
            let rule = lasts.then_some(rule);
            json!({ "choice": choice, "label": choice, "rule": rule })
        };
        serde_json::from_value(json!({
            "digest": "0".repeat(64), "call": 1, "server": "s", "identity": { "trusted": false }, "tool": "t",
            "arguments": {}, "shown": "{}", "preview": preview.then_some("{}"), "rule": "",
            "why": { "kind": "rule", "rule": "" }, "offers": offers.iter().map(offer).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    #[test]
    fn only_a_clear_word_is_an_answer() {
        let offers = [
            ("allow_once", false),
            ("allow_run", false),
            ("allow_session", false),
            ("allow_always", true),
            ("allow_always", false),
            ("deny", false),
        ];
        let view = view(&offers, false);
        let keys = Keys::of(&view);
        for (answer, choice) in [
            ("y", Some((Choice::AllowOnce, false))),
            (" YES ", Some((Choice::AllowOnce, false))),
            ("once", Some((Choice::AllowOnce, false))),
            ("r", Some((Choice::AllowRun, false))),
            ("session", Some((Choice::AllowSession, false))),
            ("o", Some((Choice::AllowAlways, true))),
            ("always", Some((Choice::AllowAlways, false))),
            ("no", Some((Choice::Deny, false))),
            ("", None),
            ("yn", None),
            ("sure", None),
            ("e", None),
        ] {
            let read = keys.read(answer).map(|answer| match answer {
                Answer::Offer(offer) => {
                    (offer.choice, offer.rule.as_ref().is_some_and(|rule| !rule.is_any()))
                }
                Answer::Everything => panic!("nothing is shortened"),
            });
            assert_eq!(read, choice, "{answer:?}");
        }
        assert_eq!(keys.listed(), "y, r, s, o, a or n");
    }

    #[test]
    fn what_is_not_offered_is_no_answer() {
        let view = view(&[("allow_once", false), ("deny", false)], true);
        let keys = Keys::of(&view);
        let line = "  [e] show everything   [y] allow_once   [n] deny";
        assert_eq!(keys.prompt(60), (Vec::new(), line.to_owned()));
        let above = ["  [e] show everything", "  [y] allow_once"].map(str::to_owned).to_vec();
        assert_eq!(keys.prompt(40), (above, "  [n] deny".to_owned()));
        assert_eq!(keys.read("r"), None);
        assert_eq!(keys.read("E"), Some(Answer::Everything));
    }
}
