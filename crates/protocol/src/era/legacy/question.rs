//! What a server asks during a session: questions as requests of an older revision, and their answers, in
//! both directions [spec: client/elicitation, client/sampling, client/roots].
//!
//! The modern model asks by an answer ([`InputRequest`]), the legacy revisions by a request of the server. A
//! server turns one into the other with [`ask`] and [`read_answer`], a client back with [`read_question`] and
//! [`answer`].

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::{Features, form, name, sampling};
use crate::era::Revision;
use crate::error::ProtocolError;
use crate::model::elicitation::{Elicit, ElicitAction, ElicitForm, ElicitResult};
use crate::model::input::InputRequest;
use crate::model::roots::ListRootsResult;
use crate::model::sampling::{CreateMessage, CreateMessageResult};

const ELICIT: &str = "elicitation/create";
const CREATE_MESSAGE: &str = "sampling/createMessage";
const LIST_ROOTS: &str = "roots/list";

/// A request that a server sends in a session.
#[derive(Clone, Debug)]
pub struct Question {
    /// Which method.
    pub method: &'static str,
    /// Its parameters.
    pub params: Box<RawValue>,
}

/// What cannot be asked in a revision: the sentence names the revision and the part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inexpressible(String);

impl Inexpressible {
    pub(super) fn new(revision: Revision, what: impl std::fmt::Display) -> Self {
        Self(format!("The client speaks revision {revision}, in which {what}"))
    }
}

/// The question as a server asks it in this revision. `elicitation_id` names an address to visit, where the
/// revision has addresses: unique within the server.
///
/// # Errors
/// When the revision has no way to ask it. Nothing of a question is dropped that its answer depends on.
pub fn ask(
    request: &InputRequest,
    revision: Revision,
    elicitation_id: &str,
) -> Result<Question, Inexpressible> {
    let features = Features::of(revision);
    let unwritable = |error| Inexpressible::new(revision, format!("this question has no JSON: {error}"));
    let (method, params) = match request {
        InputRequest::Elicit(_) if !features.elicitation => {
            return Err(Inexpressible::new(
                revision,
                "a server cannot ask the person anything (elicitation)",
            ));
        }
        InputRequest::Elicit(Elicit::Form(form)) => {
            let requested_schema = form::lower(&form.requested_schema, features)?;
            let form = ElicitForm { message: form.message.clone(), requested_schema };
            // Only a revision with another mode has the member that tells them apart.
            let params = if features.url_elicitation {
                to_raw_value(&Elicit::Form(form))
            } else {
                to_raw_value(&form)
            };
            (ELICIT, params)
        }
        InputRequest::Elicit(Elicit::Url(_)) if !features.url_elicitation => {
            return Err(Inexpressible::new(
                revision,
                "a server cannot send the person to an address (mode url)",
            ));
        }
        InputRequest::Elicit(Elicit::Url(asked)) => {
            let params = UrlParams { mode: "url", elicitation_id, url: &asked.url, message: &asked.message };
            (ELICIT, to_raw_value(&params))
        }
        InputRequest::CreateMessage(asked) => {
            (CREATE_MESSAGE, to_raw_value(&sampling::lower(asked, features)?))
        }
        InputRequest::ListRoots(asked) => (LIST_ROOTS, to_raw_value(asked)),
    };
    Ok(Question { method, params: params.map_err(unwritable)? })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UrlParams<'a> {
    mode: &'static str,
    elicitation_id: &'a str,
    url: &'a str,
    message: &'a str,
}

/// What a client answered, as the modern answer to the same question.
///
/// Clients are known to say `reject` for `decline` and to fill what was left empty with `null`; both are
/// understood. What the answer depends on must be there.
///
/// # Errors
/// What is wrong with the answer.
pub fn read_answer(request: &InputRequest, result: &RawValue) -> Result<Box<RawValue>, String> {
    match request {
        InputRequest::Elicit(asked) => {
            let given: Elicited = read(ELICIT, result)?;
            // Only an accepted form has content, whatever else a client sends along.
            let content = match (asked, given.action) {
                (Elicit::Form(_), Action::Accept) => given.content.map(filled_in),
                _ => None,
            };
            write(&ElicitResult { action: given.action.into(), content })
        }
        InputRequest::CreateMessage(_) => write(&read::<CreateMessageResult>(CREATE_MESSAGE, result)?),
        InputRequest::ListRoots(_) => write(&read::<ListRootsResult>(LIST_ROOTS, result)?),
    }
}

#[derive(Deserialize)]
struct Elicited {
    action: Action,
    #[serde(default)]
    content: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    // The pages of 2025-06-18 said `reject` for a while where its schema says `decline`.
    #[serde(alias = "reject")]
    Decline,
    Cancel,
}

impl From<Action> for ElicitAction {
    fn from(action: Action) -> Self {
        match action {
            Action::Accept => Self::Accept,
            Action::Decline => Self::Decline,
            Action::Cancel => Self::Cancel,
        }
    }
}

// No field of a form has the value null: it stands for a field that was left empty.
fn filled_in(mut content: Map<String, Value>) -> Map<String, Value> {
    content.retain(|_, value| !value.is_null());
    content
}

/// What a server asked in a session.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Whether anybody is there; the answer is an empty object.
    Ping,
    /// A question of the modern model.
    Input {
        /// The question.
        request: InputRequest,
        /// What the server calls an address to visit, for which the modern model has no place:
        /// `notifications/elicitation/complete` names it.
        elicitation_id: Option<String>,
    },
}

/// Reads a request of the server.
///
/// # Errors
/// `-32601` when this revision has no such request, `-32602` with the place when it is malformed or uses what
/// this revision has not.
pub fn read_question(
    method: &str,
    params: Option<&RawValue>,
    revision: Revision,
) -> Result<Asked, ProtocolError> {
    let features = Features::of(revision);
    let (request, elicitation_id) = match method {
        name::PING => return Ok(Asked::Ping),
        ELICIT if features.elicitation => read_elicitation(params, features)?,
        CREATE_MESSAGE => (InputRequest::CreateMessage(Box::new(read_sampling(params, features)?)), None),
        LIST_ROOTS => (InputRequest::ListRoots(read_params(LIST_ROOTS, params)?), None),
        other => return Err(ProtocolError::method_not_found(other)),
    };
    Ok(Asked::Input { request, elicitation_id })
}

fn read_elicitation(
    params: Option<&RawValue>,
    features: &Features,
) -> Result<(InputRequest, Option<String>), ProtocolError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Id {
        elicitation_id: String,
    }
    let mut asked: Elicit = read_params(ELICIT, params)?;
    let id = match &mut asked {
        Elicit::Form(form) => {
            form::raise(&mut form.requested_schema);
            None
        }
        Elicit::Url(_) if !features.url_elicitation => {
            return Err(ProtocolError::invalid_params(format!(
                "Invalid params of {ELICIT}: mode: revision {} has no \"url\"",
                features.revision
            )));
        }
        Elicit::Url(_) => Some(read_params::<Id>(ELICIT, params)?.elicitation_id),
    };
    Ok((InputRequest::Elicit(asked), id))
}

fn read_sampling(params: Option<&RawValue>, features: &Features) -> Result<CreateMessage, ProtocolError> {
    let asked: CreateMessage = read_params(CREATE_MESSAGE, params)?;
    // A client that did not declare tools must refuse them, and before they existed nobody declared them
    // [spec: client/sampling, Sampling with Tools].
    if !features.sampling_tools && (asked.tools.is_some() || asked.tool_choice.is_some()) {
        return Err(ProtocolError::invalid_params(format!(
            "Invalid params of {CREATE_MESSAGE}: tools: revision {} has none in sampling",
            features.revision
        )));
    }
    Ok(asked)
}

/// The modern answer to a question, as this client answers it in this revision.
///
/// # Errors
/// When the answer is none to this question, or the revision has no way to say it.
pub fn answer(
    request: &InputRequest,
    response: &RawValue,
    revision: Revision,
) -> Result<Box<RawValue>, String> {
    let features = Features::of(revision);
    match request {
        InputRequest::Elicit(asked) => {
            let mut given: ElicitResult = read(ELICIT, response)?;
            if given.action != ElicitAction::Accept || matches!(asked, Elicit::Url(_)) {
                given.content = None;
            }
            write(&given)
        }
        InputRequest::CreateMessage(_) => {
            write(&sampling::lower_result(read(CREATE_MESSAGE, response)?, features)?)
        }
        InputRequest::ListRoots(_) => {
            let mut given: ListRootsResult = read(LIST_ROOTS, response)?;
            if !features.definition_meta {
                given.roots.iter_mut().for_each(|root| root.meta = None);
            }
            write(&given)
        }
    }
}

fn read<T: DeserializeOwned>(method: &str, raw: &RawValue) -> Result<T, String> {
    object(raw.get()).map_err(|fault| format!("The answer to {method} is malformed: {fault}"))
}

fn write(answer: &impl Serialize) -> Result<Box<RawValue>, String> {
    to_raw_value(answer).map_err(|error| format!("The answer cannot be written as JSON: {error}"))
}

fn read_params<T: DeserializeOwned>(method: &str, params: Option<&RawValue>) -> Result<T, ProtocolError> {
    let text = params.map(RawValue::get).filter(|text| *text != "null").unwrap_or("{}");
    object(text)
        .map_err(|fault| ProtocolError::invalid_params(format!("Invalid params of {method}: {fault}")))
}

// A derived decoder takes an array for a struct, member by member; on the wire only an object is one.
fn object<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if !text.starts_with('{') {
        return Err("it is no object".to_owned());
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}
