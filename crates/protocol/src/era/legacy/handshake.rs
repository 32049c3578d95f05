//! The handshake: `initialize`, what it answers, and which revision both sides speak from then on
//! [spec: basic/lifecycle].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{capability, name};
use crate::era::Revision;
use crate::error::ProtocolError;
use crate::meta::{MetaObject, SERVER_INFO};
use crate::model::capability::{ClientCapabilities, Implementation, ServerCapabilities};
use crate::model::discover::DiscoverResult;

/// Parameters of `initialize`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize<'a> {
    /// The newest revision that the client speaks.
    #[serde(borrow)]
    pub protocol_version: Cow<'a, str>,
    /// What the client can do.
    #[serde(default, deserialize_with = "crate::meta::object_only")]
    pub capabilities: ClientCapabilities,
    /// Who the client says it is.
    #[serde(deserialize_with = "crate::meta::object_only")]
    pub client_info: Implementation,
}

impl<'a> Initialize<'a> {
    /// Reads the parameters of `initialize`.
    ///
    /// # Errors
    /// `-32602` with the place and the cause.
    pub fn decode(params: Option<&'a RawValue>) -> Result<Self, ProtocolError> {
        serde_json::from_str(params.map_or("{}", RawValue::get))
            .map_err(|error| ProtocolError::invalid_params(format!("Invalid params: {error}")))
    }
}

/// The answer to `initialize`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The revision of the session. The client leaves if it does not speak it.
    pub protocol_version: String,
    /// What the server can do.
    #[serde(default)]
    pub capabilities: ServerCapabilities,
    /// Who the server says it is.
    pub server_info: Implementation,
    /// Guidance for a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Metadata.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
}

impl InitializeResult {
    /// What a server that describes itself in the modern way says in a handshake.
    #[must_use]
    pub fn new(revision: Revision, discovered: DiscoverResult, identity: Implementation) -> Self {
        Self {
            protocol_version: revision.date().to_owned(),
            capabilities: capability::of_server(discovered.capabilities, revision),
            server_info: capability::identity(identity, revision),
            instructions: discovered.instructions,
            meta: None,
        }
    }

    /// The same in the modern way: the handshake as if the server had been discovered.
    #[must_use]
    pub fn into_discovered(self) -> DiscoverResult {
        let mut meta = self.meta.unwrap_or_default();
        // Names and texts cannot fail to serialise.
        if let Ok(info) = serde_json::to_value(&self.server_info) {
            meta.insert(SERVER_INFO.to_owned(), info);
        }
        DiscoverResult {
            supported_versions: vec![self.protocol_version],
            capabilities: self.capabilities,
            instructions: self.instructions,
            meta: Some(meta),
            ..DiscoverResult::default()
        }
    }
}

/// The revision that the answer to a handshake names; `None` if it names none of this era.
#[must_use]
pub fn answered_revision(result: &RawValue) -> Option<Revision> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer<'a> {
        #[serde(borrow)]
        protocol_version: Cow<'a, str>,
    }
    let answer: Answer<'_> = serde_json::from_str(result.get()).ok()?;
    Revision::legacy(&answer.protocol_version)
}

/// The revision that a server answers a handshake with: the one that was asked for if it is spoken here,
/// else the newest that is [spec: basic/lifecycle, Version Negotiation]. `newest` caps what is spoken.
#[must_use]
pub fn negotiate(requested: &str, newest: Revision) -> Revision {
    Revision::legacy(requested).unwrap_or(newest).min(newest)
}

/// The revision of the session, from a client's view: the server's answer decides, if it is one that this
/// client speaks and not newer than what it asked for.
///
/// # Errors
/// When it is not: the session must be given up. The error names both sides' revisions.
pub fn agree(requested: Revision, answered: &str) -> Result<Revision, Disagreement> {
    Revision::legacy(answered)
        .filter(|revision| *revision <= requested)
        .ok_or_else(|| Disagreement { requested, answered: answered.to_owned() })
}

/// There is no revision that both sides of a handshake speak.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} was answered with the revision {answered:?}, which this client does not speak in a session; it speaks {}",
    name::INITIALIZE,
    spoken(*requested)
)]
pub struct Disagreement {
    /// What the client asked for.
    pub requested: Revision,
    /// What the server said.
    pub answered: String,
}

fn spoken(newest: Revision) -> String {
    let dates =
        Revision::LEGACY.iter().filter(|revision| **revision <= newest).map(|revision| revision.date());
    dates.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{agree, negotiate};
    use crate::era::Revision;

    #[test]
    fn a_server_echoes_what_it_speaks_and_offers_its_newest_for_the_rest() {
        for (requested, newest, expected) in [
            ("2025-11-25", "2025-11-25", "2025-11-25"),
            ("2024-11-05", "2025-11-25", "2024-11-05"),
            ("2025-11-25", "2025-03-26", "2025-03-26"),
            ("2099-01-01", "2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-06-18", "2025-06-18"),
            ("", "2025-11-25", "2025-11-25"),
        ] {
            let newest = Revision::legacy(newest).unwrap();
            assert_eq!(negotiate(requested, newest).date(), expected, "{requested:?}");
        }
    }

    #[test]
    fn a_client_follows_the_server_to_what_it_speaks_and_leaves_otherwise() {
        for (requested, answered, agreed) in [
            ("2025-11-25", "2025-11-25", true),
            ("2025-11-25", "2024-11-05", true),
            ("2025-03-26", "2025-06-18", false),
            ("2025-11-25", "1999-01-01", false),
            ("2025-11-25", "2026-07-28", false),
            ("2025-11-25", "", false),
        ] {
            let requested = Revision::legacy(requested).unwrap();
            match agree(requested, answered) {
                Ok(revision) => assert!(agreed && revision.date() == answered, "{answered}"),
                Err(error) => {
                    assert!(!agreed, "{answered}");
                    assert!(error.to_string().contains(requested.date()), "{error}");
                }
            }
        }
    }
}
