//! `Args<T>`: the arguments of a tool or a prompt, decoded into a type.
//!
//! Good arguments are decoded once, straight from the text of the message. Everything else happens only
//! when that fails, or when the schema says more than the type.

use std::future::{Future, ready};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use switchboard_protocol::{Method, ProtocolError};

use super::{FromCall, Rejection};
use crate::call::Call;
use crate::errors::ToolError;
use crate::needs::Needs;

/// The arguments, decoded into `T`. The input schema of a tool and the argument list of a prompt come
/// from `T`.
///
/// A `T` of `Box<serde_json::value::RawValue>` or `serde_json::Value` takes whatever the schema allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args<T>(pub T);

impl<S: Sync, T: DeserializeOwned + JsonSchema + Send> FromCall<S> for Args<T> {
    fn describe(needs: &mut Needs) {
        needs.arguments::<T>();
    }

    fn from_call(call: &Call, _state: &S) -> impl Future<Output = Result<Self, Rejection>> + Send {
        ready(take(call))
    }
}

fn take<T: DeserializeOwned>(call: &Call) -> Result<Args<T>, Rejection> {
    let text = call.arguments();
    if let Some(rejection) = call.bound()?.entry.schema.as_ref().and_then(|schema| schema.check(text)) {
        return Err(refuse_arguments(call.method, &rejection));
    }
    serde_json::from_slice(text).map(Args).map_err(|_| explain::<T>(call, text))
}

/// Says what is wrong: in the words of the schema where that knows, else in those of the decoder.
#[cold]
fn explain<T: DeserializeOwned>(call: &Call, text: &[u8]) -> Rejection {
    let by_schema = call
        .bound()
        .ok()
        .and_then(|bound| bound.entry.schema.as_ref())
        .and_then(|schema| schema.explain(text));
    refuse_arguments(call.method, &by_schema.unwrap_or_else(|| by_decoder::<T>(text)))
}

fn by_decoder<T: DeserializeOwned>(text: &[u8]) -> String {
    let mut decoder = serde_json::Deserializer::from_slice(text);
    match serde_path_to_error::deserialize::<_, T>(&mut decoder) {
        Ok(_) => "they could not be read".into(),
        Err(error) => {
            let path = pointer(error.path());
            let place = if path.is_empty() { "(root)" } else { &path };
            format!("{place}: {}", error.inner())
        }
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut out = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => out.push_str(&format!("/{index}")),
            Segment::Map { key } => out.push_str(&format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    out
}

/// Bad arguments are a result that the model can act on; a prompt has only the error
/// [spec: server/tools, Error Handling; server/prompts, Error Handling].
fn refuse_arguments(method: Method, what: &str) -> Rejection {
    match method {
        Method::CallTool => ToolError::say(format!("Invalid arguments\n{what}")).into(),
        _ => ProtocolError::invalid_params(format!("Invalid arguments: {what}")).into(),
    }
}
