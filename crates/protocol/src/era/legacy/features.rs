//! What each legacy revision has: a row a date, a column a feature. Nothing else in this project compares
//! legacy dates.

use crate::era::{Era, Revision};

/// What a legacy revision has and another has not [spec: the changelog of each revision].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table of features")]
pub struct Features {
    /// The revision.
    pub revision: Revision,
    /// One endpoint for POST, GET and DELETE; before it, HTTP+SSE.
    pub streamable_http: bool,
    /// Several messages in one array.
    pub batches: bool,
    /// Sound as content.
    pub audio: bool,
    /// What a tool does to the world, as hints.
    pub tool_annotations: bool,
    /// Completion is a capability of its own.
    pub completions_capability: bool,
    /// Progress in words.
    pub progress_message: bool,
    /// `structuredContent` and `outputSchema`.
    pub structured_output: bool,
    /// Links to resources as content.
    pub resource_links: bool,
    /// `title` next to `name`.
    pub titles: bool,
    /// `_meta` on definitions, contents and content blocks; `lastModified` in annotations.
    pub definition_meta: bool,
    /// Already resolved arguments in a completion.
    pub completion_context: bool,
    /// Questions to the person in a form.
    pub elicitation: bool,
    /// `MCP-Protocol-Version` on every request after the handshake.
    pub version_header: bool,
    /// Icons, and `description` and `websiteUrl` of an implementation.
    pub icons: bool,
    /// Questions to the person by an address, and -32042.
    pub url_elicitation: bool,
    /// Defaults of every kind of field, and enums with titles or several choices.
    pub rich_forms: bool,
    /// Tools in sampling, and several blocks in one of its messages.
    pub sampling_tools: bool,
    /// An event stream begins with an event that only has an id, and the server may end it at will.
    pub priming_event: bool,
}

/// Oldest first.
const TABLE: [Features; 4] = {
    let oldest = Features {
        revision: Revision(0),
        streamable_http: false,
        batches: false,
        audio: false,
        tool_annotations: false,
        completions_capability: false,
        progress_message: false,
        structured_output: false,
        resource_links: false,
        titles: false,
        definition_meta: false,
        completion_context: false,
        elicitation: false,
        version_header: false,
        icons: false,
        url_elicitation: false,
        rich_forms: false,
        sampling_tools: false,
        priming_event: false,
    };
    let streamable = Features {
        revision: Revision(1),
        streamable_http: true,
        batches: true,
        audio: true,
        tool_annotations: true,
        completions_capability: true,
        progress_message: true,
        ..oldest
    };
    let structured = Features {
        revision: Revision(2),
        batches: false,
        structured_output: true,
        resource_links: true,
        titles: true,
        definition_meta: true,
        completion_context: true,
        elicitation: true,
        version_header: true,
        ..streamable
    };
    let newest = Features {
        revision: Revision(3),
        icons: true,
        url_elicitation: true,
        rich_forms: true,
        sampling_tools: true,
        priming_event: true,
        ..structured
    };
    [oldest, streamable, structured, newest]
};

impl Features {
    /// What a legacy revision has; a modern one has all that the newest legacy one has, as far as it is
    /// asked here.
    #[must_use]
    pub fn of(revision: Revision) -> &'static Self {
        match revision.era() {
            Era::Legacy => &TABLE[revision.0],
            Era::Modern => &TABLE[TABLE.len() - 1],
        }
    }
}

impl Revision {
    /// The revisions of the legacy era, newest first.
    pub const LEGACY: &'static [Self] = &[Self(3), Self(2), Self(1), Self(0)];

    /// The newest revision of the legacy era.
    pub const NEWEST_LEGACY: Self = Self(3);

    /// The first revision with the Streamable HTTP transport: what a session over it is taken for whose
    /// requests do not say [spec: basic/transports, Protocol Version Header].
    pub const FIRST_STREAMABLE_HTTP: Self = Self(1);

    /// The legacy revision with this date.
    #[must_use]
    pub fn legacy(date: &str) -> Option<Self> {
        Self::from_date(date).filter(|known| known.era() == Era::Legacy)
    }
}

#[cfg(test)]
mod tests {
    use super::{Features, TABLE};
    use crate::era::{Era, Revision};

    #[test]
    fn every_legacy_date_has_its_row() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.revision.0, at);
            assert_eq!(row.revision.era(), Era::Legacy);
            assert_eq!(Features::of(row.revision), row);
        }
        assert_eq!(Revision::LEGACY.len(), TABLE.len());
        assert!(Revision::LEGACY.is_sorted_by(|newer, older| newer > older));
        assert_eq!(Revision::from_date("2025-03-26"), Some(Revision::FIRST_STREAMABLE_HTTP));
        assert!(Features::of(Revision::FIRST_STREAMABLE_HTTP).streamable_http);
    }
}
