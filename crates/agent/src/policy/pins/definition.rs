//! What a pin holds of a tool and of its server, in a form in which the order of members does not matter.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_protocol::model::tool::Tool;

use crate::digest::Digest;
use crate::identity::Identity;
use crate::name::ServerName;
use crate::visible;

/// Everything of a definition that a person or a model decides by. Schemas and annotations are JSON with sorted
/// members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: String,
    /// The schema of its structured results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<String>,
    /// What the server says that it does to the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<String>,
}

/// Who a server is, beside the name that the person gave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerIdentity {
    /// What it calls itself, without its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// The hash of what it is configured as: its command or address, with everything that belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The same part by part, for people: without secrets, and no part of what a pin is bound to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
}

impl Definition {
    pub(super) fn of(tool: &Tool) -> Self {
        let annotations = tool.annotations.as_ref().and_then(|hints| serde_json::to_value(hints).ok());
        Self {
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: canonical(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map(canonical),
            annotations: annotations.map(|hints| sorted(&hints)),
        }
    }

    /// The digest of the definition of a tool, whoever its server is.
    pub(super) fn digest(&self, server: &ServerName, name: &str) -> Digest {
        let text = |text: &Option<String>| match text {
            // Nothing and an empty text are not the same.
            Some(text) => format!("+{text}"),
            None => String::new(),
        };
        Digest::of(&[
            b"definition",
            server.as_str().as_bytes(),
            name.as_bytes(),
            text(&self.title).as_bytes(),
            text(&self.description).as_bytes(),
            self.input_schema.as_bytes(),
            text(&self.output_schema).as_bytes(),
            text(&self.annotations).as_bytes(),
        ])
    }
}

impl ServerIdentity {
    /// What a server says of itself, and what it is configured as.
    pub(crate) fn of(said: &Identity, configuration: Option<String>) -> Self {
        Self { implementation: said.name().map(str::to_owned), configuration, parts: Vec::new() }
    }

    /// Binds a definition to its server.
    pub(super) fn pin(&self, definition: Digest) -> Digest {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Digest::of(&[
            b"pin",
            definition.to_string().as_bytes(),
            text(&self.implementation).as_bytes(),
            text(&self.configuration).as_bytes(),
        ])
    }
}

impl fmt::Display for ServerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.implementation {
            Some(implementation) => write!(f, "calls itself {}", visible::name(implementation)),
            None => write!(f, "does not say what it is"),
        }
    }
}

/// The digest of a tool's definition: any change gives another, but for the order of members.
pub(crate) fn definition_digest(server: &ServerName, tool: &Tool) -> Digest {
    Definition::of(tool).digest(server, &tool.name)
}

/// What a tool of a server would be pinned as.
pub(crate) fn pin_of(server: &ServerName, identity: &ServerIdentity, tool: &Tool) -> Digest {
    identity.pin(definition_digest(server, tool))
}

fn canonical(raw: &RawValue) -> String {
    // What is too deep to be read is compared as it came.
    serde_json::from_str(raw.get()).map_or_else(|_| raw.get().to_owned(), |value: Value| sorted(&value))
}

fn sorted(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// As deep as the value, which `serde_json` bounds.
fn write(value: &Value, out: &mut String) {
    let text = |text: &str| Value::from(text).to_string();
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&text(name));
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
        Value::Array(array) => {
            out.push('[');
            for (index, element) in array.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(element, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}
