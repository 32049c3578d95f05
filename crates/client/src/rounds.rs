//! Input rounds: the server asks, the answers are gathered, the request is repeated with them
//! [spec: basic/patterns/mrtr].
//!
//! The state that a server wants back is carried as it came and never looked at, logged or cached.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use switchboard_protocol::Method;
use switchboard_protocol::model::input::InputRequiredResult;
use switchboard_protocol::model::result::{ResultError, ResultType};
use tokio::time::sleep;

use crate::core::{Core, Run};
use crate::error::{Delivery, Error, Kind};
use crate::params::{Ask, Input};

/// The wait before the second repetition that carries nothing but the state; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A complete result, and whether input went into it: such a result must not be cached.
pub(crate) struct Completed {
    pub(crate) result: Box<RawValue>,
    pub(crate) with_input: bool,
}

impl Core {
    /// Sends a request and answers what the server asks until it has a complete result.
    pub(crate) async fn complete(
        self: &Arc<Self>,
        ask: &Ask,
        mut input: Input,
        run: &mut Run,
    ) -> Result<Completed, Error> {
        let mut rounds = 0;
        let mut bare_rounds = 0;
        #[cfg(feature = "legacy")]
        let mut visits = crate::legacy::Visits::default();
        loop {
            let result = self.round(ask, &input, run).await?;
            let Some(asked) = self.asked(ask, &result)? else {
                return Ok(Completed { result, with_input: !input.is_empty() });
            };
            rounds += 1;
            if rounds > self.limits.rounds {
                return Err(self.too_many_rounds(ask));
            }
            if let Some(on_input) = &run.on_input {
                on_input(&asked);
            }
            let questions = asked.input_requests.filter(|questions| !questions.is_empty());
            #[cfg(feature = "legacy")]
            if self.is_legacy() {
                // The answers are the server's business, which it hears of elsewhere.
                self.visit(questions.unwrap_or_default(), &mut visits)
                    .await
                    .map_err(|error| error.at(&self.name))?;
                continue;
            }
            let responses = match questions {
                // No clock runs here: a person may be thinking.
                Some(questions) => {
                    bare_rounds = 0;
                    Some(self.inputs.answer(questions).await.map_err(|error| error.at(&self.name))?)
                }
                None => {
                    wait(bare_rounds, run).await;
                    bare_rounds += 1;
                    None
                }
            };
            input = Input { responses, state: asked.request_state };
        }
    }

    /// What a result asks, if it is a question.
    ///
    /// # Errors
    /// When the result is invalid, or a question where none is allowed.
    pub(crate) fn asked(&self, ask: &Ask, result: &RawValue) -> Result<Option<InputRequiredResult>, Error> {
        let fault = |error: ResultError| Error::server_fault(error.to_string()).at(&self.name);
        match ResultType::peek(result).map_err(fault)? {
            ResultType::Complete => Ok(None),
            ResultType::InputRequired if ask.known.is_some_and(Method::allows_input_rounds) => {
                InputRequiredResult::decode(result).map(Some).map_err(fault)
            }
            ResultType::InputRequired => Err(Error::server_fault(format!(
                "the server asked for input on {}, which does not allow it",
                ask.method
            ))
            .at(&self.name)),
        }
    }

    fn too_many_rounds(&self, ask: &Ask) -> Error {
        let rounds = self.limits.rounds;
        Error::new(
            Kind::Limit,
            Delivery::MaybeExecuted,
            format!("{} was not complete after {rounds} rounds of input", ask.method),
        )
        .hint("raise the limit of rounds if the server needs more, else report it to its author")
        .at(&self.name)
    }
}

/// The first repetition goes out at once, later ones wait longer and longer.
async fn wait(bare_rounds: u32, run: &mut Run) {
    let Some(doublings) = bare_rounds.checked_sub(1) else { return };
    let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST_WAIT);
    let wait = wait.min(run.total_left);
    sleep(wait).await;
    run.total_left -= wait;
}
