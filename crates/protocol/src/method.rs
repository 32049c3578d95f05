//! The table of methods: name, parameters, result, and the revisions that have it.
//!
//! One row a method. Decoding starts from the name, never from the shape, so *unknown method* and
//! *invalid params* cannot be confused.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::error::ProtocolError;
use crate::model::input::InputRequiredResult;
use crate::model::result::{ResultError, ResultType};
use crate::model::{completion, discover, prompt, request, resource, subscription, tool};

/// A method as a type: what it takes and what it gives.
pub trait MethodSpec {
    /// Which row of the table.
    const METHOD: Method;
    /// What is sent.
    type Params<'a>: Serialize + Deserialize<'a>;
    /// What a complete answer holds.
    type Result: Serialize + DeserializeOwned;
}

macro_rules! methods {
    ($( $(#[$doc:meta])* $name:ident, $wire:literal, $params:ty => $result:ty, $name_of:expr, $rounds:literal; )*) => {
        /// A request method of the modern revisions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method { $( $(#[$doc])* $name, )* }

        impl Method {
            /// Every method, in the order of the table.
            pub const ALL: &'static [Self] = &[$( Self::$name, )*];

            /// The method's name on the wire.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$name => $wire, )* }
            }

            /// The method with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $( $wire => Some(Self::$name), )* _ => None }
            }

            /// The parameter that the `Mcp-Name` header mirrors, if any.
            #[must_use]
            pub fn name_parameter(self) -> Option<&'static str> {
                match self { $( Self::$name => $name_of, )* }
            }

            /// Whether the answer may ask for input first [spec: basic/patterns/mrtr].
            #[must_use]
            pub fn allows_input_rounds(self) -> bool {
                match self { $( Self::$name => $rounds, )* }
            }
        }

        /// The methods as types, for decoding an answer by the method that was asked.
        pub mod spec {
            use super::{Method, MethodSpec, completion, discover, prompt, request, resource, subscription, tool};
            $(
                $(#[$doc])*
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
                impl MethodSpec for $name {
                    const METHOD: Method = Method::$name;
                    type Params<'a> = $params;
                    type Result = $result;
                }
            )*
        }
    };
}

methods! {
    /// What the server speaks, can do, and is.
    Discover, "server/discover", discover::Discover<'a> => discover::DiscoverResult, None, false;
    /// The tools.
    ListTools, "tools/list", request::Paginated<'a> => tool::ListToolsResult, None, false;
    /// Calls a tool.
    CallTool, "tools/call", tool::CallTool<'a> => tool::CallToolResult, Some("name"), true;
    /// The resources.
    ListResources, "resources/list", request::Paginated<'a> => resource::ListResourcesResult, None, false;
    /// The resource templates.
    ListResourceTemplates, "resources/templates/list", request::Paginated<'a> => resource::ListResourceTemplatesResult, None, false;
    /// Reads a resource.
    ReadResource, "resources/read", resource::ReadResource<'a> => resource::ReadResourceResult, Some("uri"), true;
    /// The prompts.
    ListPrompts, "prompts/list", request::Paginated<'a> => prompt::ListPromptsResult, None, false;
    /// Expands a prompt.
    GetPrompt, "prompts/get", prompt::GetPrompt<'a> => prompt::GetPromptResult, Some("name"), true;
    /// Suggests values for an argument.
    Complete, "completion/complete", completion::Complete<'a> => completion::CompleteResult, None, false;
    /// Opens a stream of change notifications.
    SubscriptionsListen, "subscriptions/listen", subscription::SubscriptionsListen<'a> => subscription::SubscriptionsListenResult, None, false;
}

/// An answer that is no error: complete, or a question first.
#[derive(Clone, Debug)]
pub enum Answer<T> {
    /// The result of the method.
    Complete(T),
    /// The server needs input; the request is to be repeated with it.
    InputRequired(InputRequiredResult),
}

/// Decodes the parameters of a method.
///
/// # Errors
/// `-32602` with the place and the cause.
pub fn decode_params<'a, M: MethodSpec>(
    params: Option<&'a RawValue>,
) -> Result<M::Params<'a>, ProtocolError> {
    serde_json::from_str(params.map_or("{}", RawValue::get))
        .map_err(|error| ProtocolError::invalid_params(format!("Invalid params: {error}")))
}

/// Decodes an answer by the method that was asked and by `resultType`, never by shape.
///
/// # Errors
/// When `resultType` is unknown, when the method does not allow a question, or when the result
/// lacks what the method promises.
pub fn decode_result<M: MethodSpec>(raw: &RawValue) -> Result<Answer<M::Result>, ResultError> {
    match ResultType::peek(raw)? {
        ResultType::Complete => {
            serde_json::from_str(raw.get()).map(Answer::Complete).map_err(ResultError::malformed)
        }
        ResultType::InputRequired if M::METHOD.allows_input_rounds() => {
            InputRequiredResult::decode(raw).map(Answer::InputRequired)
        }
        ResultType::InputRequired => Err(ResultError::misplaced(M::METHOD.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::Method;

    #[test]
    fn every_method_is_found_by_its_name() {
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(*method));
        }
        assert_eq!(Method::from_name("initialize"), None);
        assert_eq!(Method::from_name("tools/List"), None);
    }
}
