//! Answers held against the questions that they answer.
//!
//! An answer is read as what was asked, since answers have no tag. One that does not fit is treated as
//! missing: the question is asked again.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use switchboard_protocol::model::elicitation::{Elicit, ElicitAction, ElicitResult};
use switchboard_protocol::model::input::InputRequest;
use switchboard_protocol::model::roots::ListRootsResult;
use switchboard_protocol::model::sampling::CreateMessageResult;

use crate::schema::Form;

/// Whether an answer fits its question; what is wrong if not.
pub(super) fn check(question: &InputRequest, answer: &RawValue) -> Result<(), String> {
    match question {
        InputRequest::Elicit(Elicit::Form(form)) => {
            let given: ElicitResult = read(answer)?;
            match (given.action, given.content) {
                (ElicitAction::Accept, Some(content)) => Form(&form.requested_schema).check(&content),
                (ElicitAction::Accept, None) => Form(&form.requested_schema).check(&serde_json::Map::new()),
                (ElicitAction::Decline | ElicitAction::Cancel, _) => Ok(()),
            }
        }
        InputRequest::Elicit(Elicit::Url(_)) => read::<ElicitResult>(answer).map(drop),
        InputRequest::CreateMessage(_) => read::<CreateMessageResult>(answer).map(drop),
        InputRequest::ListRoots(_) => read::<ListRootsResult>(answer).map(drop),
    }
}

/// Reads an answer as `T`; an array of the members of `T` is none.
pub(super) fn read<T: DeserializeOwned>(answer: &RawValue) -> Result<T, String> {
    if !answer.get().starts_with('{') {
        return Err("an answer must be an object".into());
    }
    serde_json::from_str(answer.get()).map_err(|error| error.to_string())
}
