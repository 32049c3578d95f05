//! What is seen otherwise in the revisions with a handshake, and why. Whatever is not in here is the same in all.

use serde_json::Value;
use switchboard_client::Revision;
use switchboard_protocol::era::Era;
use switchboard_protocol::era::legacy::Features;

use crate::story::{Transcript, measure};

/// Something that is seen otherwise.
struct Difference {
    step: &'static str,
    /// JSON pointers into what is seen, with `*` for every member or item.
    at: &'static [&'static str],
    /// In which revisions.
    when: When,
    becomes: Seen,
    /// Why.
    why: &'static str,
}

enum When {
    /// In every session.
    Session,
    /// Where the revision has none of it.
    Without(fn(&Features) -> bool),
}

enum Seen {
    /// Is not there.
    Nothing,
    /// Is this JSON.
    Json(&'static str),
}

use Seen::{Json, Nothing};
use When::{Session, Without};

const TITLES: &str = "a name is all that there is for people";
const ICONS: &str = "nothing has a picture";
const META: &str = "definitions and content have no metadata, and no time of their last change";

const TABLE: &[Difference] = &[
    // Who the server is, and what there is.
    Difference {
        step: "discover",
        at: &["/server/title"],
        when: Without(|revision| revision.titles),
        becomes: Nothing,
        why: "an implementation has a name and a version only",
    },
    Difference {
        step: "discover",
        at: &["/server/description", "/server/websiteUrl", "/server/icons"],
        when: Without(|revision| revision.icons),
        becomes: Nothing,
        why: "an implementation has no more than names and a version",
    },
    Difference {
        step: "discover",
        at: &["/capabilities/completions"],
        when: Without(|revision| revision.completions_capability),
        becomes: Nothing,
        why: "completion is not declared; a server without it says so when it is asked",
    },
    Difference {
        step: "tools",
        at: &["/tools/*/annotations"],
        when: Without(|revision| revision.tool_annotations),
        becomes: Nothing,
        why: "tools have no hints",
    },
    Difference {
        step: "tools",
        at: &["/tools/*/outputSchema"],
        when: Without(|revision| revision.structured_output),
        becomes: Nothing,
        why: "there is no structured content that it could describe",
    },
    Difference {
        step: "tools",
        at: &["/tools/*/title"],
        when: Without(|revision| revision.titles),
        becomes: Nothing,
        why: TITLES,
    },
    Difference {
        step: "resources",
        at: &["/resources/*/title", "/templates/*/title"],
        when: Without(|revision| revision.titles),
        becomes: Nothing,
        why: TITLES,
    },
    Difference {
        step: "prompts",
        at: &["/prompts/*/title"],
        when: Without(|revision| revision.titles),
        becomes: Nothing,
        why: TITLES,
    },
    Difference {
        step: "tools",
        at: &["/tools/*/icons"],
        when: Without(|revision| revision.icons),
        becomes: Nothing,
        why: ICONS,
    },
    Difference {
        step: "resources",
        at: &["/resources/*/icons"],
        when: Without(|revision| revision.icons),
        becomes: Nothing,
        why: ICONS,
    },
    Difference {
        step: "prompts",
        at: &["/prompts/*/icons"],
        when: Without(|revision| revision.icons),
        becomes: Nothing,
        why: ICONS,
    },
    Difference {
        step: "tools",
        at: &["/tools/*/_meta"],
        when: Without(|revision| revision.definition_meta),
        becomes: Nothing,
        why: META,
    },
    Difference {
        step: "resources",
        at: &["/resources/*/_meta", "/resources/*/annotations/lastModified"],
        when: Without(|revision| revision.definition_meta),
        becomes: Nothing,
        why: META,
    },
    Difference {
        step: "prompts",
        at: &["/prompts/*/_meta"],
        when: Without(|revision| revision.definition_meta),
        becomes: Nothing,
        why: META,
    },
    // What a call gives.
    Difference {
        step: "structured content",
        at: &["/structured"],
        when: Without(|revision| revision.structured_output),
        becomes: Json("null"),
        why: "the text says the same",
    },
    Difference {
        step: "every kind of content",
        at: &["/content/*/_meta", "/content/*/annotations/lastModified"],
        when: Without(|revision| revision.definition_meta),
        becomes: Nothing,
        why: META,
    },
    Difference {
        step: "every kind of content",
        at: &["/content/2"],
        when: Without(|revision| revision.audio),
        becomes: Json(
            r#"{"type": "text", "text":
            "[Audio (audio/wav, 3 bytes) was left out: the protocol revision of this session has none]"}"#,
        ),
        why: "there is no sound",
    },
    Difference {
        step: "every kind of content",
        at: &["/content/3/icons"],
        when: Without(|revision| revision.icons),
        becomes: Nothing,
        why: ICONS,
    },
    Difference {
        step: "every kind of content",
        at: &["/content/3"],
        when: Without(|revision| revision.resource_links),
        becomes: Json(
            r#"{"type": "text", "text": "[Resource \"page\" at story://page (text/plain, 16 bytes)]"}"#,
        ),
        why: "there are no links to resources",
    },
    Difference {
        step: "progress",
        at: &["/steps/*/2"],
        when: Without(|revision| revision.progress_message),
        becomes: Json("null"),
        why: "progress is not told in words",
    },
    // What the person is asked.
    Difference {
        step: "two rounds of input",
        at: &["/asked/1/requestedSchema/properties/reason/default"],
        when: Without(|revision| revision.rich_forms),
        becomes: Nothing,
        why: "only a yes or no can be filled in beforehand",
    },
    Difference {
        step: "two rounds of input",
        at: &[""],
        when: Without(|revision| revision.elicitation),
        becomes: Json(
            r#"{"asked": [], "result": {"failed": true, "structured": null, "content": [{"type": "text",
            "text": "The request needs what the client did not declare in initialize: elicitation"}]}}"#,
        ),
        why: "nobody can be asked, so the tool fails and says what the client lacks",
    },
    Difference {
        step: "an address to visit",
        at: &[""],
        when: Without(|revision| revision.url_elicitation),
        becomes: Json(
            r#"{"asked": [], "result": {"failed": true, "structured": null, "content": [{"type": "text",
            "text": "The request needs what the client did not declare in initialize: elicitation.url"}]}}"#,
        ),
        why: "nobody can be sent to an address, so the tool fails and says what the client lacks",
    },
    // Failures, and what only a session has.
    Difference {
        step: "error: missing resource",
        at: &["/code"],
        when: Session,
        becomes: Json("-32002"),
        why: "a missing resource has a code of its own",
    },
    Difference {
        step: "error: missing resource",
        at: &["/error"],
        when: Session,
        becomes: Json(r#""the server answered with error -32002: Resource not found""#),
        why: "a missing resource has a code of its own",
    },
    Difference {
        step: "error: missing capability",
        at: &[""],
        when: Session,
        becomes: Json(
            r#"{"failed": true, "structured": null, "content": [{"type": "text",
            "text": "The request needs what the client did not declare in initialize: sampling, roots"}]}"#,
        ),
        why: "there is no code for it, so the tool fails and says what the client lacks",
    },
    Difference {
        step: "ping",
        at: &[""],
        when: Session,
        becomes: Json("{}"),
        why: "a session can be pinged; the newest revision has none",
    },
];

impl Difference {
    fn applies(&self, features: &Features) -> bool {
        match self.when {
            Session => true,
            Without(has) => !has(features),
        }
    }

    fn apply(&self, transcript: &mut Transcript) {
        let Some(seen) = transcript.get_mut(self.step) else { return };
        for at in self.at {
            change(seen, at, &self.becomes);
        }
    }
}

/// The table, on top of what is seen in the newest revision.
pub(super) fn apply(measure: &Transcript, revision: Revision) -> Transcript {
    let mut seen = measure.clone();
    if revision.era() == Era::Modern {
        return seen;
    }
    let features = Features::of(revision);
    TABLE
        .iter()
        .filter(|difference| difference.applies(features))
        .for_each(|difference| difference.apply(&mut seen));
    seen
}

/// Changes what is at a place: the whole, a member, or every member.
fn change(value: &mut Value, at: &str, becomes: &Seen) {
    let Some(path) = at.strip_prefix('/') else {
        *value = seen(becomes).unwrap_or_default();
        return;
    };
    let (name, rest) = path.split_once('/').map_or((path, ""), |(name, _)| (name, &path[name.len()..]));
    match value {
        Value::Object(members) if rest.is_empty() => match seen(becomes) {
            Some(new) => drop(members.insert(name.to_owned(), new)),
            None => drop(members.remove(name)),
        },
        Value::Object(members) => {
            members
                .iter_mut()
                .filter(|(known, _)| name == "*" || *known == name)
                .for_each(|(_, member)| change(member, rest, becomes));
        }
        Value::Array(items) => {
            items
                .iter_mut()
                .enumerate()
                .filter(|(index, _)| name == "*" || index.to_string() == name)
                .for_each(|(_, item)| change(item, rest, becomes));
        }
        _ => {}
    }
}

fn seen(becomes: &Seen) -> Option<Value> {
    match becomes {
        Nothing => None,
        Json(text) => Some(serde_json::from_str(text).unwrap()),
    }
}

#[test]
fn each_row_of_the_table_is_about_something_that_is_there() {
    let measure = measure();
    for difference in TABLE {
        let Difference { step, at, why, .. } = difference;
        let mut seen = measure.clone();
        difference.apply(&mut seen);
        assert_ne!(seen, measure, "{step} {at:?}: {why}");
        let somewhere = Revision::LEGACY.iter().any(|revision| difference.applies(Features::of(*revision)));
        assert!(somewhere, "{step} {at:?}: {why}");
    }
}
