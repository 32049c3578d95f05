//! Capabilities and identities as an older revision has them: what it does not know is left out.

use super::Features;
use crate::era::Revision;
use crate::model::capability::{
    ClientCapabilities, ElicitationCapability, Implementation, ServerCapabilities, Settings,
};

/// What a client declares in the handshake of this revision, and what a server may take from it.
#[must_use]
pub fn of_client(mut declared: ClientCapabilities, revision: Revision) -> ClientCapabilities {
    let features = Features::of(revision);
    declared.extensions = None;
    if let Some(sampling) = &mut declared.sampling
        && !features.sampling_tools
    {
        (sampling.tools, sampling.context) = (None, None);
    }
    declared.elicitation = declared.elicitation.filter(|_| features.elicitation).and_then(|declared| {
        if features.url_elicitation {
            return Some(declared);
        }
        // This revision has forms only, and says so with an empty object.
        declared.allows_form().then(ElicitationCapability::default)
    });
    declared
}

/// What a server declares in the handshake of this revision.
#[must_use]
pub fn of_server(mut declared: ServerCapabilities, revision: Revision) -> ServerCapabilities {
    declared.extensions = None;
    if !Features::of(revision).completions_capability {
        declared.completions = None;
    }
    // A session always has a log level, and the server is not obliged to send anything.
    declared.logging.get_or_insert_with(Settings::new);
    declared
}

/// A name and a version, with what else the revision has for it.
#[must_use]
pub fn identity(mut identity: Implementation, revision: Revision) -> Implementation {
    let features = Features::of(revision);
    if !features.titles {
        identity.title = None;
    }
    if !features.icons {
        (identity.description, identity.website_url, identity.icons) = (None, None, None);
    }
    identity
}
