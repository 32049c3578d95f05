//! What is known of a run that says more about its failure than the place where it occurred.

use switchboard_agent::supervisor::Supervisor;
use switchboard_agent::{ErrorKind, ServerName};

use crate::failure::{Exit, Failure};
use crate::stages::Declined;

/// What a tool means that speaks of elicitation where nobody can be asked, and what to do.
const UNASKED: &str = "the tool wants to ask the person something, and nobody can be asked here";
const ASK_IN_A_TERMINAL: &str = "run it in a terminal, where the question can be shown and answered";
/// What to do where a tool failed because the person did not answer it.
const DECLINED: &str = "the tool's question was not answered: run it again to be asked again";
/// What to do where a program is gone.
const BY_HAND: &str = "start the program by hand to see why it ended";
const BY_HAND_OR_V: &str =
    "start the program by hand to see why it ended, or add -v to see all that it writes to stderr";

/// What the person was asked, and what the servers are.
pub(crate) struct Known {
    /// Whether servers were told that the person can be asked.
    takes_questions: bool,
    /// Whether the person did not answer what a tool asked.
    declined: Declined,
    /// The servers that are programs.
    programs: Vec<ServerName>,
    verbose: bool,
}

impl Known {
    pub(crate) fn of(
        supervisor: &Supervisor,
        (takes_questions, declined, verbose): (bool, Declined, bool),
    ) -> Self {
        let configs = supervisor.configs();
        let programs = configs.iter().filter(|config| config.target.is_command());
        let programs = programs.map(|config| config.name.clone()).collect();
        Self { takes_questions, declined, programs, verbose }
    }

    /// The failure with what is known here.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let is_program = || self.programs.iter().any(|name| Some(name.as_str()) == failure.server());
        // A tool that could not ask the person only says so in its own words in a session.
        let unasked = || !self.takes_questions && failure.cause().to_lowercase().contains("elicitation");
        if failure.is(Exit::Tool) && self.declined.is_so() {
            failure.turned_into(ErrorKind::Denied, DECLINED)
        } else if failure.is(Exit::Tool) && unasked() {
            failure.explained(UNASKED).turned_into(ErrorKind::InputNeeded, ASK_IN_A_TERMINAL)
        } else if failure.is(Exit::Unreachable) && is_program() {
            failure.hint_for(Exit::Unreachable, if self.verbose { BY_HAND } else { BY_HAND_OR_V })
        } else {
            failure
        }
    }
}
