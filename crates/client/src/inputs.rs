//! What this client answers when a server asks: the handlers, the capabilities that they declare
//! by existing, and the answers of one round [spec: basic/patterns/mrtr].

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
#[cfg(feature = "legacy")]
use switchboard_protocol::error::ErrorCode;
use switchboard_protocol::model::capability::{
    ClientCapabilities, ElicitationCapability, SamplingCapability, Settings,
};
use switchboard_protocol::model::elicitation::{Elicit, ElicitAction, ElicitForm, ElicitResult, ElicitUrl};
use switchboard_protocol::model::input::{InputRequest, InputRequests, InputResponses};
use switchboard_protocol::model::roots::{ListRootsResult, Root};
use switchboard_protocol::model::sampling::{CreateMessage, CreateMessageResult};
use url::Url;

use crate::error::{Delivery, Error, Kind, excerpt};
use crate::form;

/// What the person said to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitReply {
    /// They answered: the fields of the form as an object, or `null` for an address that they
    /// agreed to open. Fields that have a default may be left out.
    Accept(Value),
    /// They refused.
    Decline,
    /// They closed the question without a choice.
    Cancel,
}

impl ElicitReply {
    /// Whether it fits the form, defaults filled in. The client checks this before it sends an answer; an interface
    /// that wants to ask again checks it first.
    ///
    /// # Errors
    /// The first field that does not fit, and why.
    pub fn check(&self, asked: &ElicitForm) -> Result<(), String> {
        let Self::Accept(content) = self else { return Ok(()) };
        let mut content = fields(content.clone()).map_err(|error| error.cause().to_owned())?;
        form::fill_defaults(&asked.requested_schema, &mut content);
        form::check(&asked.requested_schema, &content)
    }

    /// What the server is told, defaults filled in, for hosts that gather the answers themselves.
    ///
    /// # Errors
    /// The first field that does not fit, and why.
    pub fn result(self, asked: &ElicitForm) -> Result<ElicitResult, String> {
        self.check(asked)?;
        let told = elicit_result(self, |content| {
            let mut content = fields(content)?;
            form::fill_defaults(&asked.requested_schema, &mut content);
            Ok(Some(content))
        });
        told.map_err(|error| error.cause().to_owned())
    }
}

/// A question that this client will not answer; it ends the request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Handler<Q, A> = Arc<dyn Fn(Q) -> Boxed<A> + Send + Sync>;

/// The handlers of a client.
#[derive(Clone, Default)]
pub(crate) struct Inputs {
    form: Option<Handler<ElicitForm, ElicitReply>>,
    url: Option<Handler<ElicitUrl, ElicitReply>>,
    sampling: Option<Handler<CreateMessage, Result<CreateMessageResult, Refused>>>,
    sampling_tools: bool,
    roots: Option<Handler<(), Vec<Root>>>,
}

fn erase<Q, A, F, Fut>(handler: F) -> Handler<Q, A>
where
    F: Fn(Q) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
{
    Arc::new(move |question| Box::pin(handler(question)))
}

impl Inputs {
    pub(crate) fn set_form<F, Fut>(&mut self, handler: F)
    where
        F: Fn(ElicitForm) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitReply> + Send + 'static,
    {
        self.form = Some(erase(handler));
    }

    pub(crate) fn set_url<F, Fut>(&mut self, handler: F)
    where
        F: Fn(ElicitUrl) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ElicitReply> + Send + 'static,
    {
        self.url = Some(erase(handler));
    }

    pub(crate) fn set_sampling<F, Fut>(&mut self, handler: F)
    where
        F: Fn(CreateMessage) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, Refused>> + Send + 'static,
    {
        self.sampling = Some(erase(handler));
    }

    pub(crate) fn allow_sampling_tools(&mut self) {
        self.sampling_tools = true;
    }

    pub(crate) fn set_roots<F, Fut>(&mut self, handler: F)
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Vec<Root>> + Send + 'static,
    {
        self.roots = Some(erase(move |()| handler()));
    }

    /// What is declared: exactly what there is a handler for.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let when = |on: bool| on.then(Settings::new);
        let elicits = self.form.is_some() || self.url.is_some();
        ClientCapabilities {
            roots: when(self.roots.is_some()),
            sampling: self
                .sampling
                .as_ref()
                .map(|_| SamplingCapability { context: None, tools: when(self.sampling_tools) }),
            elicitation: elicits.then(|| ElicitationCapability {
                form: when(self.form.is_some()),
                url: when(self.url.is_some()),
            }),
            ..ClientCapabilities::default()
        }
    }

    /// Answers the questions of one round, one after the other: a person answers them.
    ///
    /// # Errors
    /// When a question is of a kind that was not declared, or breaks a rule; nothing was asked of anybody then. When
    /// a handler refused, or answered what the question does not allow.
    pub(crate) async fn answer(&self, questions: InputRequests) -> Result<InputResponses, Error> {
        for question in questions.values() {
            self.check_declared(question)?;
            check_rules(question)?;
        }
        let mut answers = BTreeMap::new();
        for (key, question) in questions {
            let answer = self.answer_one(question).await?;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    /// Whether somebody can be asked to visit an address.
    #[cfg(feature = "legacy")]
    pub(crate) fn has_url(&self) -> bool {
        self.url.is_some()
    }

    /// Whether somebody lists the roots.
    pub(crate) fn has_roots(&self) -> bool {
        self.roots.is_some()
    }

    /// Why a server that asks with a request of its own gets no answer: the whole capability is missing, or
    /// the part of it that this question needs.
    #[cfg(feature = "legacy")]
    pub(crate) fn refusal(&self, question: &InputRequest) -> Option<(ErrorCode, String)> {
        let (missing, _) = self.undeclared(question)?;
        let partly = match question {
            InputRequest::Elicit(_) => self.form.is_some() || self.url.is_some(),
            InputRequest::CreateMessage(_) => self.sampling.is_some(),
            InputRequest::ListRoots(_) => false,
        };
        let code = if partly { ErrorCode::INVALID_PARAMS } else { ErrorCode::METHOD_NOT_FOUND };
        Some((code, format!("This client did not declare the capability {missing}")))
    }

    fn check_declared(&self, question: &InputRequest) -> Result<(), Error> {
        let Some((missing, required)) = self.undeclared(question) else { return Ok(()) };
        Err(Error::server_fault(format!(
            "the server asked for {missing}, a capability that this client did not declare; nothing was asked \
             of anybody"
        ))
        .requiring(required))
    }

    /// What a question needs that was not declared, and what messages call it.
    fn undeclared(&self, question: &InputRequest) -> Option<(&'static str, ClientCapabilities)> {
        let on = || Some(Settings::new());
        let elicitation = |form, url| ClientCapabilities {
            elicitation: Some(ElicitationCapability { form, url }),
            ..ClientCapabilities::default()
        };
        let sampling = |tools| ClientCapabilities {
            sampling: Some(SamplingCapability { context: None, tools }),
            ..ClientCapabilities::default()
        };
        Some(match question {
            InputRequest::Elicit(Elicit::Form(_)) if self.form.is_none() => {
                ("elicitation (form)", elicitation(on(), None))
            }
            InputRequest::Elicit(Elicit::Url(_)) if self.url.is_none() => {
                ("elicitation (url)", elicitation(None, on()))
            }
            InputRequest::CreateMessage(_) if self.sampling.is_none() => ("sampling", sampling(None)),
            InputRequest::CreateMessage(asked)
                if !self.sampling_tools && (asked.tools.is_some() || asked.tool_choice.is_some()) =>
            {
                ("sampling (tools)", sampling(on()))
            }
            InputRequest::ListRoots(_) if self.roots.is_none() => {
                ("roots", ClientCapabilities { roots: on(), ..ClientCapabilities::default() })
            }
            _ => return None,
        })
    }

    async fn answer_one(&self, question: InputRequest) -> Result<Box<RawValue>, Error> {
        match question {
            InputRequest::Elicit(Elicit::Form(form)) => {
                let handler = self.form.as_ref().ok_or_else(unhandled)?;
                let schema = form.requested_schema.clone();
                let reply = handler(form).await;
                encode(&elicit_result(reply, |content| {
                    let mut content = fields(content)?;
                    form::fill_defaults(&schema, &mut content);
                    form::check(&schema, &content).map_err(|why| {
                        Error::misuse(format!("the answer to the server's form does not fit: {why}"))
                            .delivered(Delivery::Rejected)
                            .hint("correct the answer, or decline")
                    })?;
                    Ok(Some(content))
                })?)
            }
            InputRequest::Elicit(Elicit::Url(url)) => {
                let handler = self.url.as_ref().ok_or_else(unhandled)?;
                let reply = handler(url).await;
                encode(&elicit_result(reply, |_| Ok(None))?)
            }
            InputRequest::CreateMessage(asked) => {
                let handler = self.sampling.as_ref().ok_or_else(unhandled)?;
                let answer = handler(*asked).await.map_err(|refused| {
                    Error::new(
                        Kind::Cancelled,
                        Delivery::Rejected,
                        format!("the server's request to a language model was refused: {refused}"),
                    )
                })?;
                encode(&answer)
            }
            InputRequest::ListRoots(_) => {
                let handler = self.roots.as_ref().ok_or_else(unhandled)?;
                encode(&ListRootsResult { roots: only_files(handler(()).await)? })
            }
        }
    }
}

fn elicit_result(
    reply: ElicitReply,
    accept: impl FnOnce(Value) -> Result<Option<Map<String, Value>>, Error>,
) -> Result<ElicitResult, Error> {
    Ok(match reply {
        ElicitReply::Accept(content) => {
            ElicitResult { action: ElicitAction::Accept, content: accept(content)? }
        }
        ElicitReply::Decline => ElicitResult { action: ElicitAction::Decline, content: None },
        ElicitReply::Cancel => ElicitResult { action: ElicitAction::Cancel, content: None },
    })
}

fn fields(content: Value) -> Result<Map<String, Value>, Error> {
    match content {
        Value::Object(fields) => Ok(fields),
        Value::Null => Ok(Map::new()),
        _ => Err(Error::misuse("the answer to a form must be an object of its fields")
            .delivered(Delivery::Rejected)),
    }
}

/// What a question of its kind must be, whoever is asked.
fn check_rules(question: &InputRequest) -> Result<(), Error> {
    let fault = match question {
        InputRequest::Elicit(Elicit::Url(asked)) => Url::parse(&asked.url)
            .err()
            .map(|fault| format!("an address that is none ({fault}): {}", excerpt(&asked.url))),
        InputRequest::CreateMessage(asked) => asked
            .check_tool_results()
            .err()
            .map(|fault| format!("a model with messages that no model takes: {}", excerpt(&fault))),
        InputRequest::Elicit(Elicit::Form(_)) | InputRequest::ListRoots(_) => None,
    };
    match fault {
        None => Ok(()),
        Some(fault) => {
            Err(Error::server_fault(format!("the server asked for {fault}; nothing was asked of anybody")))
        }
    }
}

/// A root must be a file or a folder [spec: client/roots].
fn only_files(roots: Vec<Root>) -> Result<Vec<Root>, Error> {
    let is_file =
        |root: &Root| root.uri.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file://"));
    match roots.iter().find(|root| !is_file(root)) {
        None => Ok(roots),
        Some(root) => Err(Error::misuse(format!(
            "the root {} is no file:// URI, and this revision allows no other",
            excerpt(&root.uri)
        ))
        .delivered(Delivery::Rejected)),
    }
}

// Checked before anybody is asked; said again rather than assumed.
fn unhandled() -> Error {
    Error::server_fault("the server asked for a capability that this client did not declare")
}

fn encode(answer: &impl Serialize) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(answer).map_err(|error| {
        Error::misuse(format!("an answer to the server cannot be written as JSON: {error}"))
            .delivered(Delivery::Rejected)
    })
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("form", &self.form.is_some())
            .field("url", &self.url.is_some())
            .field("sampling", &self.sampling.is_some())
            .field("roots", &self.roots.is_some())
            .finish()
    }
}
