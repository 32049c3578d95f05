//! What a denial means for whoever wanted an answer: its kind, and what to do about it.

use super::{Denial, DenialReason};
use crate::error::{AgentError, ErrorKind};
use crate::visible;

impl From<Denial> for AgentError {
    fn from(denial: Denial) -> Self {
        let (kind, hint) = match denial.reason {
            DenialReason::Rule => {
                (ErrorKind::Denied, "change the rule if the call should be made".to_owned())
            }
            DenialReason::Person | DenialReason::OtherThanShown => {
                (ErrorKind::Denied, "ask again to be asked again".to_owned())
            }
            DenialReason::Unmatched => (
                ErrorKind::ApprovalNeeded,
                allow(&denial).unwrap_or_else(|| "write a rule for it".to_owned()),
            ),
            DenialReason::NobodyToAskSoFail | DenialReason::NobodyToAskSoDeny => {
                (ErrorKind::ApprovalNeeded, unasked(&denial))
            }
        };
        let error = Self::new(kind, denial.to_string()).at(&denial.server).hint(hint);
        match denial.rule_to_add() {
            Some(rule) => error.with_rule(rule.clone()),
            None => error,
        }
    }
}

/// What to do where nobody could be asked.
fn unasked(denial: &Denial) -> String {
    if denial.needs_pin() {
        let (server, tool) = (visible::argument(denial.server.as_str()), visible::argument(&denial.tool));
        return format!(
            "run it in a terminal to be asked, or agree to the tool as it is now with: switchboard pins accept {server} \
             {tool}"
        );
    }
    let allow = allow(denial).map(|add| format!("{add}, ")).unwrap_or_default();
    format!("run it in a terminal to be asked, {allow}or say yes to everything with --yes")
}

/// The rule that allows the call, as a shell takes it.
fn allow(denial: &Denial) -> Option<String> {
    denial.rule_to_add().map(|rule| {
        format!("add --allow {}, keep the rule with: {}", visible::argument(&rule.allow), rule.command)
    })
}
