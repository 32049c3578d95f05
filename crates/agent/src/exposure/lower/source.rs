//! The original document: its draft, and where its references lead.
//!
//! References are followed within the document only: pointers, anchors and embedded `$id`s. Where to look next:
//! `read`, which inlines what is found here.

use std::rc::Rc;

use super::super::json::Json;
use super::schema::{Shape, shape, step};

/// The rules by which a schema is read, as far as they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    /// Draft 4: `id`, and exclusive limits are flags.
    Four,
    /// Draft 6: no `if`.
    Six,
    /// Draft 7, like those before it: what stands beside `$ref` judges nothing.
    Seven,
    /// 2019-09: tuples are spelled `items`.
    Nineteen,
    /// 2020-12, and whatever nobody knows.
    Twenty,
}

impl Draft {
    fn of(root: &Json) -> Self {
        let declared = root.member("$schema").and_then(Json::as_str).unwrap_or_default();
        let spelled = |part: &str| declared.contains(part);
        if spelled("draft-04") {
            Self::Four
        } else if spelled("draft-06") {
            Self::Six
        } else if spelled("draft-07") {
            Self::Seven
        } else if spelled("2019-09") {
            Self::Nineteen
        } else {
            Self::Twenty
        }
    }

    /// Whether a keyword judges anything in this draft.
    pub(super) fn knows(self, keyword: &str) -> bool {
        let since = match keyword {
            "const" | "contains" | "propertyNames" => Self::Six,
            "if" | "then" | "else" => Self::Seven,
            "dependentRequired"
            | "dependentSchemas"
            | "minContains"
            | "maxContains"
            | "unevaluatedProperties"
            | "unevaluatedItems" => Self::Nineteen,
            "prefixItems" => Self::Twenty,
            "dependencies" => return self <= Self::Seven,
            _ => Self::Four,
        };
        self >= since
    }
}

/// A subschema of the document.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    pub(super) json: &'a Json,
    /// Its JSON pointer from the root of the document.
    pub(super) at: String,
    /// The part of the document below one `$id`, which its references begin at.
    resource: Resource<'a>,
}

#[derive(Clone, Debug)]
struct Resource<'a> {
    json: &'a Json,
    at: Rc<str>,
}

impl<'a> Place<'a> {
    /// A place below this one.
    pub(super) fn below(&self, json: &'a Json, path: &str) -> Self {
        Self { json, at: format!("{}/{path}", self.at), resource: self.resource.clone() }
    }
}

/// The document with its names.
pub(super) struct Source<'a> {
    pub(super) root: &'a Json,
    pub(super) draft: Draft,
    anchors: Vec<(&'a str, Place<'a>)>,
    resources: Vec<(&'a str, Place<'a>)>,
}

impl<'a> Source<'a> {
    pub(super) fn new(root: &'a Json, text: &str) -> Self {
        let mut source = Self { root, draft: Draft::of(root), anchors: Vec::new(), resources: Vec::new() };
        // Names only matter to references.
        if text.contains("Ref\"") || text.contains("$ref") {
            source.index(source.start());
        }
        source
    }

    /// The root.
    pub(super) fn start(&self) -> Place<'a> {
        let resource = Resource { json: self.root, at: Rc::from("") };
        Place { json: self.root, at: String::new(), resource }
    }

    /// The place, known to be the root of its own resource if it has an `$id`.
    pub(super) fn entered(&self, mut place: Place<'a>) -> Place<'a> {
        if self.id(place.json).is_some() {
            place.resource = Resource { json: place.json, at: Rc::from(place.at.as_str()) };
        }
        place
    }

    fn id(&self, json: &'a Json) -> Option<&'a str> {
        let name = if self.draft == Draft::Four { "id" } else { "$id" };
        json.member(name)?.as_str().filter(|id| !id.starts_with('#'))
    }

    /// Collects the names of all subschemas. The depth is that of the document, which was parsed before.
    fn index(&mut self, place: Place<'a>) {
        let Some(members) = place.json.as_object() else { return };
        if let Some(id) = self.id(place.json) {
            self.resources.push((id.trim_end_matches('#'), self.entered(place.clone())));
        }
        let place = self.entered(place);
        for (name, value) in members {
            match (name.as_str(), value) {
                ("$anchor" | "$dynamicAnchor", Json::String(anchor)) => {
                    self.anchors.push((anchor, place.clone()));
                }
                ("$id" | "id", Json::String(id)) if id.starts_with('#') => {
                    self.anchors.push((&id[1..], place.clone()));
                }
                _ => children(&place, name, value).into_iter().for_each(|child| self.index(child)),
            }
        }
    }

    /// Where a reference leads. `None` if that is nowhere in the document.
    pub(super) fn resolve(&self, from: &Place<'a>, reference: &str) -> Option<Place<'a>> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if document.is_empty() {
            from.resource.clone()
        } else {
            self.resource(document)?.resource.clone()
        };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchor(fragment, &resource);
        }
        let mut place = Place { json: resource.json, at: resource.at.to_string(), resource };
        for name in percent_decoded(fragment)?.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            let json = match place.json {
                Json::Object(_) => place.json.member(&name)?,
                Json::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                _ => return None,
            };
            place = self.entered(place.below(json, &step(&name)));
        }
        Some(place)
    }

    fn anchor(&self, name: &str, resource: &Resource<'a>) -> Option<Place<'a>> {
        let named = || self.anchors.iter().filter(|(known, _)| *known == name).map(|(_, place)| place);
        let own = named().find(|place| place.resource.at == resource.at);
        own.or_else(|| named().next()).cloned()
    }

    /// Where a dynamic reference leads, if there is only one place that it can mean.
    pub(super) fn resolve_dynamic(&self, from: &Place<'a>, reference: &str) -> Option<Place<'a>> {
        let anchor = reference.rsplit_once('#').map_or("", |(_, anchor)| anchor);
        let several = self.anchors.iter().filter(|(known, _)| *known == anchor).count() > 1;
        if several { None } else { self.resolve(from, reference) }
    }

    /// An embedded resource by its `$id`, or by the last part of it, as a relative reference has it.
    fn resource(&self, document: &str) -> Option<&Place<'a>> {
        let ends = |id: &str| id.strip_suffix(document).is_some_and(|base| base.ends_with('/'));
        let by = |fits: &dyn Fn(&str) -> bool| self.resources.iter().find(|(id, _)| fits(id));
        by(&|id| id == document).or_else(|| by(&ends)).map(|(_, place)| place)
    }
}

/// The subschemas in a keyword.
fn children<'a>(place: &Place<'a>, name: &str, value: &'a Json) -> Vec<Place<'a>> {
    let shape = match name {
        "$defs" | "definitions" => Some(Shape::SchemaMap),
        _ => shape(name).map(|(_, shape)| shape),
    };
    match (shape, value) {
        (Some(Shape::SchemaMap), Json::Object(members)) => {
            members.iter().map(|(key, json)| place.below(json, &format!("{name}/{}", step(key)))).collect()
        }
        (Some(Shape::Schema | Shape::Schemas), Json::Array(items)) => {
            items.iter().enumerate().map(|(at, json)| place.below(json, &format!("{name}/{at}"))).collect()
        }
        (Some(Shape::Schema), Json::Object(_)) => vec![place.below(value, name)],
        _ => Vec::new(),
    }
}

/// Decodes the `%XX` of a URI fragment; `None` where they are malformed.
fn percent_decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}
