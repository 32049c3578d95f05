//! What can be asked: the person (a form, an address), the client's model, the client's roots.

use std::borrow::Cow;

use schemars::JsonSchema;
use switchboard_protocol::model::capability::{
    ClientCapabilities, ElicitationCapability, SamplingCapability, Settings,
};
use switchboard_protocol::model::elicitation::{Elicit, ElicitForm, ElicitSchema, ElicitUrl};
use switchboard_protocol::model::input::{InputRequest, InputRequests};
use switchboard_protocol::model::roots::ListRoots;
use switchboard_protocol::model::sampling::{CreateMessage, IncludeContext};

use crate::schema::form_of;

/// Questions to the person.
#[derive(Clone, Copy, Debug)]
pub struct Elicitation;

impl Elicitation {
    /// A form with the fields of `T`, a struct of texts, numbers, booleans and enums without fields. Its
    /// key is the name of the type.
    #[must_use]
    pub fn form<T: JsonSchema>(message: impl Into<String>) -> Questions {
        match form_of::<T>() {
            Ok(schema) => Self::form_of(T::schema_name(), message, schema),
            Err(problem) => Questions { asked: InputRequests::new(), problem: Some(problem) },
        }
    }

    /// A form with a schema of your own, under a key of your own.
    #[must_use]
    pub fn form_of(
        key: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
        requested_schema: ElicitSchema,
    ) -> Questions {
        let form = ElicitForm { message: message.into(), requested_schema };
        Questions::one(key, InputRequest::Elicit(Elicit::Form(form)))
    }

    /// An address to visit: a login, a payment. The answer says only whether the person agreed to go
    /// there. Its key is `url`.
    #[must_use]
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Questions {
        let question = ElicitUrl { message: message.into(), url: url.into() };
        Questions::one("url", InputRequest::Elicit(Elicit::Url(question)))
    }
}

/// The questions of one round, by key. No question at all is a round that only carries the state.
///
/// ```
/// use schemars::JsonSchema;
/// use switchboard_server::{Elicitation, Questions};
///
/// #[derive(JsonSchema)]
/// struct Confirm {
///     /// Send it now?
///     ok: bool,
/// }
///
/// let questions = Elicitation::form::<Confirm>("Really?").and(Questions::roots().key("folders"));
/// assert_eq!(questions.keys().collect::<Vec<_>>(), ["Confirm", "folders"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Questions {
    asked: InputRequests,
    /// What is wrong with a question that could not be made.
    problem: Option<String>,
}

impl Questions {
    /// Nothing is asked.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The client's language model is asked. The key is `sampling`.
    #[must_use]
    pub fn sampling(request: CreateMessage) -> Self {
        let problem = request.check_tool_results().err();
        let asked = Self::one("sampling", InputRequest::CreateMessage(Box::new(request)));
        Self { problem, ..asked }
    }

    /// The client is asked for its roots. The key is `roots`.
    #[must_use]
    pub fn roots() -> Self {
        Self::one("roots", InputRequest::ListRoots(ListRoots::default()))
    }

    fn one(key: impl Into<Cow<'static, str>>, request: InputRequest) -> Self {
        let key: Cow<'static, str> = key.into();
        Self { asked: InputRequests::from([(key.into_owned(), request)]), problem: None }
    }

    /// Renames the question. Of several questions, the names stay as they are.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        if self.asked.len() == 1
            && let Some((_, request)) = self.asked.pop_first()
        {
            self.asked.insert(key.into(), request);
        }
        self
    }

    /// These questions and others, in the same round. Under one key there is one question: the later.
    #[must_use]
    pub fn and(mut self, mut others: Self) -> Self {
        self.asked.append(&mut others.asked);
        self.problem = self.problem.or(others.problem);
        self
    }

    /// The keys of the questions.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.asked.keys().map(String::as_str)
    }

    pub(crate) fn into_requests(self) -> Result<InputRequests, String> {
        match self.problem {
            None => Ok(self.asked),
            Some(problem) => Err(problem),
        }
    }
}

/// What of the capabilities that these questions need the client did not declare. Nothing may be asked
/// that the client cannot answer [spec: basic/patterns/mrtr, Server Requirements].
pub(crate) fn missing_capabilities(
    asked: &InputRequests,
    declared: &ClientCapabilities,
) -> Option<ClientCapabilities> {
    let mut missing = ClientCapabilities::default();
    for request in asked.values() {
        match request {
            InputRequest::Elicit(elicit) => {
                let known = declared.elicitation.as_ref();
                let wanted = missing.elicitation.clone().unwrap_or_default();
                match elicit {
                    Elicit::Form(_) if !known.is_some_and(ElicitationCapability::allows_form) => {
                        let form = Some(Settings::new());
                        missing.elicitation = Some(ElicitationCapability { form, ..wanted });
                    }
                    Elicit::Url(_) if !known.is_some_and(ElicitationCapability::allows_url) => {
                        let url = Some(Settings::new());
                        missing.elicitation = Some(ElicitationCapability { url, ..wanted });
                    }
                    Elicit::Form(_) | Elicit::Url(_) => {}
                }
            }
            InputRequest::CreateMessage(request) => {
                if let Some(sampling) = missing_sampling(request, declared.sampling.as_ref()) {
                    missing.sampling = Some(sampling);
                }
            }
            InputRequest::ListRoots(_) if declared.roots.is_none() => missing.roots = Some(Settings::new()),
            InputRequest::ListRoots(_) => {}
        }
    }
    (missing != ClientCapabilities::default()).then_some(missing)
}

fn missing_sampling(
    request: &CreateMessage,
    declared: Option<&SamplingCapability>,
) -> Option<SamplingCapability> {
    let needs_tools = request.tools.is_some() || request.tool_choice.is_some();
    let needs_context = !matches!(request.include_context, None | Some(IncludeContext::None));
    let lacks_tools = needs_tools && declared.is_none_or(|known| known.tools.is_none());
    let lacks_context = needs_context && declared.is_none_or(|known| known.context.is_none());
    if declared.is_some() && !lacks_tools && !lacks_context {
        return None;
    }
    Some(SamplingCapability {
        tools: lacks_tools.then(Settings::new),
        context: lacks_context.then(Settings::new),
    })
}
