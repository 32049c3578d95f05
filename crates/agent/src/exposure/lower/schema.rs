//! A schema between the original and a dialect: references are gone, draft spellings are those of 2020-12,
//! malformed and unknown keywords are gone, and each subschema knows where it came from.
//!
//! Where to look next: `read` makes it, `adapt` lowers it, `conjoin` joins two of them.

use std::collections::HashSet;

use super::super::json::Json;

/// A schema, and where it stands in the original document (a JSON pointer).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schema {
    pub(super) at: String,
    pub(super) body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    Bool(bool),
    Keywords(Keywords),
}

/// The keywords of one schema, in their order; names are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Keywords(Vec<(&'static str, Keyword)>);

/// The value of a keyword.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Keyword {
    Plain(Json),
    Schema(Box<Schema>),
    List(Vec<Schema>),
    Map(Vec<(String, Schema)>),
}

/// What the value of a keyword looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Any,
    Text,
    Flag,
    Number,
    Count,
    Values,
    Names,
    Types,
    NamesOf,
    Schema,
    Schemas,
    SchemaMap,
}

/// The types of JSON Schema.
pub(super) const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Keywords that judge nothing.
pub(super) const ANNOTATIONS: [&str; 7] =
    ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Every keyword that is read, as 2020-12 spells it. All others judge nothing that a model can use.
const SHAPES: [(&str, Shape); 54] = [
    ("type", Shape::Types),
    ("description", Shape::Text),
    ("title", Shape::Text),
    ("properties", Shape::SchemaMap),
    ("required", Shape::Names),
    ("items", Shape::Schema),
    ("enum", Shape::Values),
    ("default", Shape::Any),
    ("anyOf", Shape::Schemas),
    ("additionalProperties", Shape::Schema),
    ("const", Shape::Any),
    ("format", Shape::Text),
    ("minimum", Shape::Number),
    ("maximum", Shape::Number),
    ("minLength", Shape::Count),
    ("maxLength", Shape::Count),
    ("pattern", Shape::Text),
    ("minItems", Shape::Count),
    ("maxItems", Shape::Count),
    ("examples", Shape::Values),
    ("oneOf", Shape::Schemas),
    ("allOf", Shape::Schemas),
    ("not", Shape::Schema),
    ("if", Shape::Schema),
    ("then", Shape::Schema),
    ("else", Shape::Schema),
    ("exclusiveMinimum", Shape::Number),
    ("exclusiveMaximum", Shape::Number),
    ("multipleOf", Shape::Number),
    ("uniqueItems", Shape::Flag),
    ("minProperties", Shape::Count),
    ("maxProperties", Shape::Count),
    ("patternProperties", Shape::SchemaMap),
    ("propertyNames", Shape::Schema),
    ("prefixItems", Shape::Schemas),
    ("contains", Shape::Schema),
    ("minContains", Shape::Count),
    ("maxContains", Shape::Count),
    ("dependentRequired", Shape::NamesOf),
    ("dependentSchemas", Shape::SchemaMap),
    ("unevaluatedProperties", Shape::Schema),
    ("unevaluatedItems", Shape::Schema),
    ("deprecated", Shape::Flag),
    ("readOnly", Shape::Flag),
    ("writeOnly", Shape::Flag),
    ("contentEncoding", Shape::Text),
    ("contentMediaType", Shape::Text),
    ("contentSchema", Shape::Schema),
    // What only the compiler itself writes.
    ("$ref", Shape::Text),
    ("$defs", Shape::SchemaMap),
    ("nullable", Shape::Flag),
    // What older drafts call otherwise; `read` translates them.
    ("additionalItems", Shape::Schema),
    ("dependencies", Shape::SchemaMap),
    ("x-ignored", Shape::Any),
];

/// The shape of a keyword that is known, and its name as a constant.
pub(super) fn shape(name: &str) -> Option<(&'static str, Shape)> {
    SHAPES.iter().find(|(known, _)| *known == name).copied()
}

impl Schema {
    pub(super) fn new(at: &str, keywords: Keywords) -> Self {
        Self { at: at.to_owned(), body: Body::Keywords(keywords) }
    }

    /// The schema that takes everything.
    pub(super) fn any(at: &str) -> Self {
        Self::new(at, Keywords::default())
    }

    /// A schema with one type.
    pub(super) fn of_type(at: &str, name: &str) -> Self {
        let mut keywords = Keywords::default();
        keywords.put("type", Keyword::Plain(Json::text(name)));
        Self::new(at, keywords)
    }

    /// Its keywords; none for `true` and `false`.
    pub(super) fn keywords(&self) -> Option<&Keywords> {
        match &self.body {
            Body::Keywords(keywords) => Some(keywords),
            Body::Bool(_) => None,
        }
    }

    pub(super) fn into_keywords(self) -> Keywords {
        match self.body {
            Body::Keywords(keywords) => keywords,
            Body::Bool(_) => Keywords::default(),
        }
    }

    pub(super) fn is_false(&self) -> bool {
        self.body == Body::Bool(false)
    }

    /// Whether it takes everything: nothing in it judges.
    pub(super) fn takes_all(&self) -> bool {
        match &self.body {
            Body::Bool(value) => *value,
            Body::Keywords(keywords) => keywords.iter().all(|(name, _)| ANNOTATIONS.contains(&name)),
        }
    }

    /// Whether it refers to a definition, here or deeper.
    pub(super) fn refers(&self) -> bool {
        self.keywords().is_some_and(|keywords| {
            keywords
                .iter()
                .any(|(name, value)| name == "$ref" || value.schemas().into_iter().any(Self::refers))
        })
    }

    /// The same without where it came from: two equal schemas of different places are equal.
    pub(super) fn to_json(&self) -> Json {
        match &self.body {
            Body::Bool(value) => Json::Bool(*value),
            Body::Keywords(keywords) => keywords.to_json(),
        }
    }
}

impl Keywords {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Keyword)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    pub(super) fn into_iter(self) -> impl Iterator<Item = (&'static str, Keyword)> {
        self.0.into_iter()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(super) fn find(&self, name: &str) -> Option<&Keyword> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(super) fn plain(&self, name: &str) -> Option<&Json> {
        match self.find(name) {
            Some(Keyword::Plain(value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn schema(&self, name: &str) -> Option<&Schema> {
        match self.find(name) {
            Some(Keyword::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    pub(super) fn list(&self, name: &str) -> &[Schema] {
        match self.find(name) {
            Some(Keyword::List(list)) => list,
            _ => &[],
        }
    }

    pub(super) fn map(&self, name: &str) -> &[(String, Schema)] {
        match self.find(name) {
            Some(Keyword::Map(map)) => map,
            _ => &[],
        }
    }

    /// Sets a keyword, at its place if it is there and at the end otherwise.
    pub(super) fn put(&mut self, name: &'static str, value: Keyword) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    pub(super) fn put_plain(&mut self, name: &'static str, value: Json) {
        self.put(name, Keyword::Plain(value));
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Keyword> {
        let place = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.remove(place).1)
    }

    pub(super) fn take_plain(&mut self, name: &str) -> Option<Json> {
        match self.take(name)? {
            Keyword::Plain(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn take_schema(&mut self, name: &str) -> Option<Schema> {
        match self.take(name)? {
            Keyword::Schema(schema) => Some(*schema),
            _ => None,
        }
    }

    pub(super) fn take_list(&mut self, name: &str) -> Vec<Schema> {
        match self.take(name) {
            Some(Keyword::List(list)) => list,
            _ => Vec::new(),
        }
    }

    pub(super) fn take_map(&mut self, name: &str) -> Vec<(String, Schema)> {
        match self.take(name) {
            Some(Keyword::Map(map)) => map,
            _ => Vec::new(),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.plain(name).and_then(Json::as_str)
    }

    /// The names in a list of names.
    pub(super) fn names(&self, name: &str) -> Vec<&str> {
        let list = self.plain(name).and_then(Json::as_array).unwrap_or_default();
        list.iter().filter_map(Json::as_str).collect()
    }

    /// The types that are allowed, if that is said by `type`.
    pub(super) fn types(&self) -> Option<Vec<&str>> {
        match self.plain("type")? {
            Json::String(one) => Some(vec![one.as_str()]),
            Json::Array(several) => Some(several.iter().filter_map(Json::as_str).collect()),
            _ => None,
        }
    }

    /// Says which types are allowed.
    pub(super) fn put_types(&mut self, types: &[&str]) {
        match types {
            [one] => self.put_plain("type", Json::text(*one)),
            several => {
                self.put_plain("type", Json::Array(several.iter().map(|name| Json::text(*name)).collect()));
            }
        }
    }

    pub(super) fn put_names(&mut self, name: &'static str, names: &[&str]) {
        if names.is_empty() {
            self.take(name);
        } else {
            self.put_plain(name, Json::Array(names.iter().map(|name| Json::text(*name)).collect()));
        }
    }

    fn to_json(&self) -> Json {
        Json::Object(self.0.iter().map(|(name, value)| ((*name).to_owned(), value.to_json())).collect())
    }
}

impl Keyword {
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Schema(schema) => schema.to_json(),
            Self::List(list) => Json::Array(list.iter().map(Schema::to_json).collect()),
            Self::Map(map) => {
                Json::Object(map.iter().map(|(name, schema)| (name.clone(), schema.to_json())).collect())
            }
        }
    }

    /// All schemas in it.
    pub(super) fn schemas(&self) -> Vec<&Schema> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Schema(schema) => vec![schema],
            Self::List(list) => list.iter().collect(),
            Self::Map(map) => map.iter().map(|(_, schema)| schema).collect(),
        }
    }
}

/// Of schemas that say the same, wherever they come from, the first.
pub(super) fn distinct(schemas: impl IntoIterator<Item = Schema>) -> Vec<Schema> {
    let mut known = HashSet::new();
    schemas.into_iter().filter(|schema| known.insert(schema.to_json().to_string())).collect()
}

/// A name as one step of a JSON pointer.
pub(super) fn step(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
