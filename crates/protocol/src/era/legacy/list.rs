//! Prepared lists as an older revision has them: a table of the members of each kind of definition, and one
//! pass over the text. Order, numbers and schemas stay as they were written.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::Features;
use super::members::{Members, describes_object, is_object};
use crate::era::Revision;
use crate::meta::is_reserved_key;
use crate::method::Method;

/// A prepared modern list (the result object) as this revision has it.
///
/// # Errors
/// When it is no list of that method.
pub fn list(method: Method, prepared: &[u8], revision: Revision) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(prepared.len());
    let raw: &RawValue = serde_json::from_slice(prepared)?;
    write_object(&mut out, raw, members_of(method), Features::of(revision))?;
    Ok(out)
}

/// The members of an object that a legacy revision may have; what is not here has no place in any.
type Kind = &'static [(&'static str, Rule)];

/// What becomes of a member.
#[derive(Clone, Copy)]
enum Rule {
    /// Every revision has it.
    Keep,
    /// Only some have it.
    When(fn(&Features) -> bool),
    /// An array of objects.
    Items(Kind),
    /// An object, left out when nothing of it remains.
    Object(Kind),
    /// Metadata of a result.
    Meta,
    /// Metadata of a definition.
    DefinitionMeta,
    /// The schema of a tool's arguments.
    InputSchema,
    /// The schema of a tool's structured content.
    OutputSchema,
}

use Rule::{DefinitionMeta, InputSchema, Items, Keep, Meta, Object, OutputSchema, When};

const TITLE: (&str, Rule) = ("title", When(|features| features.titles));
const ICONS: (&str, Rule) = ("icons", When(|features| features.icons));
const ANNOTATIONS: (&str, Rule) = (
    "annotations",
    Object(&[
        ("audience", Keep),
        ("priority", Keep),
        ("lastModified", When(|features| features.definition_meta)),
    ]),
);

const TOOL: Kind = &[
    ("name", Keep),
    TITLE,
    ("description", Keep),
    ("inputSchema", InputSchema),
    ("outputSchema", OutputSchema),
    ("annotations", When(|features| features.tool_annotations)),
    ICONS,
    ("_meta", DefinitionMeta),
];

const RESOURCE: Kind = &[
    ("uri", Keep),
    ("name", Keep),
    TITLE,
    ("description", Keep),
    ("mimeType", Keep),
    ("size", Keep),
    ANNOTATIONS,
    ICONS,
    ("_meta", DefinitionMeta),
];

const TEMPLATE: Kind = &[
    ("uriTemplate", Keep),
    ("name", Keep),
    TITLE,
    ("description", Keep),
    ("mimeType", Keep),
    ANNOTATIONS,
    ICONS,
    ("_meta", DefinitionMeta),
];

const PROMPT: Kind = &[
    ("name", Keep),
    TITLE,
    ("description", Keep),
    ("arguments", Items(&[("name", Keep), TITLE, ("description", Keep), ("required", Keep)])),
    ICONS,
    ("_meta", DefinitionMeta),
];

fn members_of(method: Method) -> Kind {
    match method {
        Method::ListTools => &[("tools", Items(TOOL)), ("nextCursor", Keep), ("_meta", Meta)],
        Method::ListResources => &[("resources", Items(RESOURCE)), ("nextCursor", Keep), ("_meta", Meta)],
        Method::ListResourceTemplates => {
            &[("resourceTemplates", Items(TEMPLATE)), ("nextCursor", Keep), ("_meta", Meta)]
        }
        Method::ListPrompts => &[("prompts", Items(PROMPT)), ("nextCursor", Keep), ("_meta", Meta)],
        // Not a list: what every result has.
        _ => &[("_meta", Meta)],
    }
}

/// Writes what this kind keeps of the object; whether anything was kept.
fn write_object(
    out: &mut Vec<u8>,
    raw: &RawValue,
    kind: Kind,
    features: &Features,
) -> Result<bool, serde_json::Error> {
    let rule_of = |name: &str| kind.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule);
    let Members(members) = serde_json::from_str(raw.get())?;
    write_members(out, &members, |out, name, value| match rule_of(name) {
        Some(rule) => write_value(out, value, rule, features),
        None => Ok(false),
    })
}

/// Writes an object of those members whose value `write` wrote; whether there was any.
fn write_members(
    out: &mut Vec<u8>,
    members: &[(Cow<'_, str>, &RawValue)],
    mut write: impl FnMut(&mut Vec<u8>, &str, &RawValue) -> Result<bool, serde_json::Error>,
) -> Result<bool, serde_json::Error> {
    out.push(b'{');
    let start = out.len();
    for (name, value) in members {
        let before = out.len();
        if before > start {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        if !write(out, name, value)? {
            out.truncate(before);
        }
    }
    let any = out.len() > start;
    out.push(b'}');
    Ok(any)
}

/// Writes the value as the rule has it; whether the member is kept.
fn write_value(
    out: &mut Vec<u8>,
    value: &RawValue,
    rule: Rule,
    features: &Features,
) -> Result<bool, serde_json::Error> {
    match rule {
        Keep => Ok(write_raw(out, value)),
        When(has) => Ok(has(features) && write_raw(out, value)),
        Items(kind) => write_items(out, value, kind, features).map(|()| true),
        Object(kind) => Ok(is_object(value) && write_object(out, value, kind, features)?),
        DefinitionMeta if !features.definition_meta => Ok(false),
        Meta | DefinitionMeta => Ok(is_object(value) && write_meta(out, value)?),
        InputSchema => write_schema(out, value).map(|()| true),
        OutputSchema if features.structured_output && describes_object(value) => {
            write_schema(out, value).map(|()| true)
        }
        OutputSchema => Ok(false),
    }
}

fn write_raw(out: &mut Vec<u8>, value: &RawValue) -> bool {
    out.extend_from_slice(value.get().as_bytes());
    true
}

fn write_items(
    out: &mut Vec<u8>,
    value: &RawValue,
    kind: Kind,
    features: &Features,
) -> Result<(), serde_json::Error> {
    let items: Vec<&RawValue> = serde_json::from_str(value.get())?;
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_object(out, item, kind, features)?;
    }
    out.push(b']');
    Ok(())
}

/// What the protocol reserves means something in the modern revision only.
fn write_meta(out: &mut Vec<u8>, value: &RawValue) -> Result<bool, serde_json::Error> {
    let Members(members) = serde_json::from_str(value.get())?;
    write_members(out, &members, |out, key, value| Ok(!is_reserved_key(key) && write_raw(out, value)))
}

/// Every legacy revision demands that the schema of each property is an object, and clients refuse a whole
/// list for one that is not; the modern one allows `true` and `false`. These have a form as objects. A
/// schema that is no object itself stays as it is: it costs its tool, not the list.
fn write_schema(out: &mut Vec<u8>, schema: &RawValue) -> Result<(), serde_json::Error> {
    let members = || {
        let Members(members) = serde_json::from_str(schema.get()).ok()?;
        let (_, properties) = members.iter().find(|(name, _)| name == "properties")?;
        let Members(properties) = serde_json::from_str(properties.get()).ok()?;
        properties.iter().any(|(_, value)| as_object(value).is_some()).then_some((members, properties))
    };
    let Some((members, properties)) = members() else {
        write_raw(out, schema);
        return Ok(());
    };
    write_members(out, &members, |out, name, value| {
        if name != "properties" {
            return Ok(write_raw(out, value));
        }
        write_members(out, &properties, |out, _, value| {
            out.extend_from_slice(as_object(value).unwrap_or(value.get()).as_bytes());
            Ok(true)
        })
    })
    .map(drop)
}

/// The object that says the same as a schema of one word.
fn as_object(schema: &RawValue) -> Option<&'static str> {
    match schema.get() {
        "true" => Some("{}"),
        "false" => Some(r#"{"not":{}}"#),
        _ => None,
    }
}
