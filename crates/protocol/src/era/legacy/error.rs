//! Errors as the legacy revisions have them.

use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, ProtocolError};
use crate::method::Method;
use crate::model::capability::ClientCapabilities;

/// The error as a legacy client knows it: its own code for a missing resource, and no code that only the
/// modern revision has.
#[must_use]
pub fn error(error: ProtocolError, method: Option<Method>) -> ProtocolError {
    match error.code {
        ErrorCode::INVALID_PARAMS if method == Some(Method::ReadResource) => missing_resource(error),
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => missing_capability(&error),
        // About headers or versions of modern requests, which nobody sent here.
        code if code.is_modern() => ProtocolError::invalid_request(error.message),
        _ => error,
    }
}

/// A missing resource is what names the URI in its data [spec: server/resources, Error Handling].
fn missing_resource(error: ProtocolError) -> ProtocolError {
    #[derive(Serialize, Deserialize)]
    struct Data {
        uri: String,
    }
    let data = error.data.as_deref().and_then(|data| serde_json::from_str::<Data>(data.get()).ok());
    match data {
        Some(data) => ProtocolError::of(ErrorCode::RESOURCE_NOT_FOUND, error.message).with_data(&data),
        None => error,
    }
}

fn missing_capability(error: &ProtocolError) -> ProtocolError {
    let named = error.required_capabilities().map(|required| in_words(&required)).unwrap_or_default();
    let message = if named.is_empty() {
        error.message.clone()
    } else {
        format!("The request needs what the client did not declare in initialize: {}", named.join(", "))
    };
    ProtocolError::invalid_params(message)
}

fn in_words(required: &ClientCapabilities) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(sampling) = &required.sampling {
        words.push("sampling".to_owned());
        words.extend(sampling.tools.as_ref().map(|_| "sampling.tools".to_owned()));
        words.extend(sampling.context.as_ref().map(|_| "sampling.context".to_owned()));
    }
    if let Some(elicitation) = &required.elicitation {
        if elicitation.allows_form() {
            words.push("elicitation".to_owned());
        }
        words.extend(elicitation.url.as_ref().map(|_| "elicitation.url".to_owned()));
    }
    words.extend(required.roots.as_ref().map(|_| "roots".to_owned()));
    words.extend(required.experimental.iter().flatten().map(|(name, _)| format!("experimental.{name}")));
    words.extend(required.extensions.iter().flatten().map(|(name, _)| format!("the extension {name}")));
    words
}
