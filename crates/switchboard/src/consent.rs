//! Who may call what: the options, and the policy that they make.
//!
//! Deciding is `switchboard_agent::policy`; asking on a terminal is `ask`.

use clap::{Args, ValueEnum};
use switchboard_agent::policy::{Action, Mode, Policy, Rule};

use crate::failure::Failure;
use crate::stdin;

/// The options about consent; the same for every command that calls tools.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConsentArgs {
    /// Allow every call without asking
    #[arg(long, short = 'y', conflicts_with = "on_ask")]
    yes: bool,

    /// Ask nobody: where a person would be asked, end the run (fail) or go on without the call (deny).
    /// Without it, the person is asked on a terminal, and a run in a pipe ends
    #[arg(long, value_name = "WHAT")]
    on_ask: Option<OnAsk>,

    /// Allow calls of SERVER/TOOL without asking; * stands for any text; repeatable
    #[arg(long, value_name = "SERVER/TOOL")]
    allow: Vec<String>,

    /// Never call SERVER/TOOL; * stands for any text; repeatable
    #[arg(long, value_name = "SERVER/TOOL")]
    deny: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnAsk {
    Fail,
    Deny,
}

impl ConsentArgs {
    /// What happens where a rule says *ask*.
    pub(crate) fn mode(&self) -> Mode {
        match self.on_ask {
            _ if self.yes => Mode::Yes,
            Some(OnAsk::Fail) => Mode::Fail,
            Some(OnAsk::Deny) => Mode::Deny,
            None if stdin::can_ask() => Mode::Interactive,
            None => Mode::Fail,
        }
    }

    /// Whether a server may ask the person something: not where they said to ask nobody, and not without a terminal.
    pub(crate) fn takes_questions(&self) -> bool {
        self.on_ask.is_none() && stdin::can_ask()
    }

    /// Whether the person left it to the program what to do where nobody can be asked.
    pub(crate) fn nothing_said(&self) -> bool {
        !self.yes && self.on_ask.is_none() && self.mode() != Mode::Interactive
    }

    /// The rules that were given.
    pub(crate) fn policy(&self) -> Result<Policy, Failure> {
        let allowed = self.allow.iter().map(|pattern| (Action::Allow, pattern));
        let denied = self.deny.iter().map(|pattern| (Action::Deny, pattern));
        allowed.chain(denied).try_fold(Policy::new(self.mode()), |policy, (action, pattern)| {
            let rule = Rule::new(action, pattern)
                .map_err(|error| Failure::usage(error.to_string(), "write it as SERVER/TOOL"))?;
            Ok(policy.rule(rule))
        })
    }
}
