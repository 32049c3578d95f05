//! Lowers a schema that was read to what a dialect takes.
//!
//! A keyword that the dialect does not take is lost, never made stricter: keywords that lean on one another go
//! together. What is lost is noted, and told to the model in the description where it is short. Where to look next:
//! `rules` for who takes what, `root` for the top level, `strict` and `gemini` for what only those two need.

mod members;
mod values;

use super::super::json::Json;
use super::super::lost::Losses;
use super::conjoin::conjoin;
use super::rules::{LONGEST_DESCRIPTION, Rules};
use super::schema::{ANNOTATIONS, Body, Keyword, Keywords, Schema, distinct};
use super::text;

/// The longest remark about what else holds, in characters.
const LONGEST_REMARK: usize = 240;

/// Lowers schemas to one dialect.
pub(super) struct Adapter<'a> {
    pub(super) rules: &'static Rules,
    pub(super) losses: &'a mut Losses,
    /// What holds for the whole tool and is not in its schema any more.
    pub(super) remarks: Vec<String>,
}

/// What one schema said and no longer says, for its description.
#[derive(Default)]
pub(super) struct Unsaid(Vec<(String, Json)>);

impl Unsaid {
    pub(super) fn add(&mut self, name: &str, value: Json) {
        self.0.push((name.to_owned(), value));
    }

    /// A remark, if it is short.
    pub(super) fn remark(self) -> Option<String> {
        let json = Json::Object(self.0);
        let known = json.as_object().is_some_and(|members| !members.is_empty());
        if !known || json.length(LONGEST_REMARK) > LONGEST_REMARK {
            return None;
        }
        Some(format!("Must also fit this JSON Schema: {json}"))
    }
}

impl Adapter<'_> {
    /// A schema anywhere below the root.
    pub(super) fn schema(&mut self, schema: Schema) -> Schema {
        let schema = self.flat(schema);
        let at = schema.at;
        let keywords = match schema.body {
            Body::Bool(true) => return Schema::any(&at),
            Body::Bool(false) => return self.nothing(&at),
            Body::Keywords(keywords) => keywords,
        };
        let mut unsaid = Unsaid::default();
        let mut keywords = self.keywords(&at, keywords, &mut unsaid);
        self.describe(&at, &mut keywords, unsaid.remark().as_slice());
        Schema::new(&at, keywords)
    }

    /// The schema that nothing fits.
    fn nothing(&mut self, at: &str) -> Schema {
        let mut keywords = Keywords::default();
        if self.rules.takes("not") {
            keywords.put("not", Keyword::Schema(Box::new(Schema::any(at))));
        } else {
            self.losses.widened(at, "false", "it cannot be said that nothing fits here");
        }
        Schema::new(at, keywords)
    }

    /// The same with everything of `allOf` in one place, as far as it goes.
    pub(super) fn flat(&mut self, schema: Schema) -> Schema {
        let (at, mut keywords) = match schema {
            Schema { at, body: Body::Keywords(keywords) } if keywords.has("allOf") => (at, keywords),
            other => return other,
        };
        let mut rest: Vec<Schema> = Vec::new();
        let parts = keywords.take_list("allOf");
        let mut whole = Schema::new(&at, keywords);
        for part in parts {
            let part = self.flat(part);
            let joined = conjoin(whole, part, self.losses);
            let Body::Keywords(mut keywords) = joined.body else { return joined };
            // What could not be joined now cannot be joined later either.
            rest.append(&mut keywords.take_list("allOf"));
            whole = Schema::new(&at, keywords);
        }
        let mut keywords = whole.into_keywords();
        if !rest.is_empty() {
            keywords.put("allOf", Keyword::List(rest));
        }
        Schema::new(&at, keywords)
    }

    /// The keywords of one schema, lowered.
    pub(super) fn keywords(&mut self, at: &str, mut keywords: Keywords, unsaid: &mut Unsaid) -> Keywords {
        drop_vacuous(&mut keywords);
        self.settle_members(at, &mut keywords, unsaid);
        self.settle_tuples(at, &mut keywords, unsaid);
        self.settle_logic(at, &mut keywords, unsaid);
        self.settle_values(at, &mut keywords, unsaid);
        let mut out = Keywords::default();
        for (name, value) in keywords.into_iter() {
            if !self.rules.takes(name) {
                self.lose(at, (name, value), unsaid);
                continue;
            }
            match value {
                Keyword::Plain(_) => out.put(name, value),
                Keyword::Schema(schema) if schema.is_false() && name == "additionalProperties" => {
                    out.put_plain(name, Json::Bool(false));
                }
                Keyword::Schema(schema) if name == "additionalProperties" && schema.takes_all() => {
                    out.put_plain(name, Json::Bool(true));
                }
                Keyword::Schema(schema) => {
                    let schema = self.schema(*schema);
                    out.put(name, Keyword::Schema(Box::new(schema)));
                }
                Keyword::List(list) => self.list(at, &mut out, name, list),
                Keyword::Map(map) => {
                    let map = map.into_iter().map(|(key, schema)| (key, self.schema(schema))).collect();
                    out.put(name, Keyword::Map(map));
                }
            }
        }
        out
    }

    /// A keyword that is not taken.
    fn lose(&mut self, at: &str, (name, value): (&'static str, Keyword), unsaid: &mut Unsaid) {
        // Titles say again what names say.
        if name == "title" || (name == "additionalProperties" && value_takes_all(&value)) {
            return;
        }
        self.losses.widened(at, name, "the provider does not take this keyword");
        // What is marked as deprecated or read-only needs no remark.
        if !ANNOTATIONS.contains(&name) || name == "examples" || name == "default" {
            unsaid.add(name, value.to_json());
        }
    }

    /// Alternatives and conjunctions.
    fn list(&mut self, at: &str, out: &mut Keywords, name: &'static str, list: Vec<Schema>) {
        match name {
            "anyOf" | "oneOf" => self.alternatives(at, out, name, list),
            _ => {
                let list = list.into_iter().map(|schema| self.schema(schema)).collect();
                out.put(name, Keyword::List(list));
            }
        }
    }

    fn alternatives(&mut self, at: &str, out: &mut Keywords, name: &'static str, list: Vec<Schema>) {
        let before = self.losses.count();
        let possible: Vec<Schema> = list.into_iter().filter(|schema| !schema.is_false()).collect();
        let mut lowered: Vec<Schema> = possible.into_iter().map(|schema| self.schema(schema)).collect();
        // Two that were told apart by what is lost are one now. `oneOf` of two equals would take neither.
        if name == "anyOf" {
            lowered = distinct(lowered);
        }
        let exact = self.losses.count() == before && !lowered.iter().any(Schema::refers);
        match lowered.len() {
            0 => self.losses.widened(at, name, "none of its alternatives can be fulfilled"),
            _ if name == "oneOf" && !exact => {
                self.losses.widened(at, name, "its alternatives are not shown in full, so they may overlap");
                self.put_any_of(at, out, lowered);
            }
            _ => out.put(name, Keyword::List(lowered)),
        }
    }

    fn put_any_of(&mut self, at: &str, out: &mut Keywords, list: Vec<Schema>) {
        if out.has("anyOf") {
            self.losses.widened(at, "oneOf", "there is an anyOf beside it");
        } else {
            out.put("anyOf", Keyword::List(list));
        }
    }

    /// Keywords that only make sense whole: conditions, negations, alternatives of which exactly one holds.
    fn settle_logic(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        if !self.rules.takes("oneOf") {
            self.one_as_any(at, keywords);
        }
        if !self.rules.takes("allOf") {
            for part in keywords.take_list("allOf") {
                for (name, value) in part.into_keywords().into_iter() {
                    self.losses.widened(at, name, "it is said twice in different words");
                    unsaid.add(name, value.to_json());
                }
            }
        }
        for (name, group) in [("not", &["not"][..]), ("if", &["if", "then", "else"])] {
            let Some(held) = keywords.schema(name).cloned() else { continue };
            let exact = self.rules.takes(name) && self.is_exact(held);
            if !exact {
                self.lose_group(at, group, keywords, unsaid);
            }
        }
        let bounded = keywords.has("maxContains");
        if let Some(held) = keywords.schema("contains").cloned()
            && (!self.rules.takes("contains") || (bounded && !self.is_exact(held)))
        {
            self.lose_group(at, &["contains", "minContains", "maxContains"], keywords, unsaid);
        }
    }

    /// Whether a schema would be shown as it is. What a reference leads to may be shown otherwise.
    fn is_exact(&mut self, schema: Schema) -> bool {
        if schema.refers() {
            return false;
        }
        let mut losses = Losses::default();
        let mut other = Adapter { rules: self.rules, losses: &mut losses, remarks: Vec::new() };
        other.schema(schema);
        losses.count() == 0
    }

    fn lose_group(&mut self, at: &str, group: &[&'static str], keywords: &mut Keywords, unsaid: &mut Unsaid) {
        for name in group {
            if let Some(value) = keywords.take(name) {
                self.lose(at, (name, value), unsaid);
            }
        }
    }

    /// `oneOf` as `anyOf`, which takes more.
    fn one_as_any(&mut self, at: &str, keywords: &mut Keywords) {
        let one = keywords.take_list("oneOf");
        if one.is_empty() {
            return;
        }
        if keywords.has("anyOf") {
            self.losses.widened(at, "oneOf", "there is an anyOf beside it");
        } else {
            // Alternatives of different types cannot overlap: nothing is lost.
            if !are_disjoint(&one) {
                self.losses.widened(at, "oneOf", "it is shown as anyOf: more than one alternative may hold");
            }
            keywords.put("anyOf", Keyword::List(one));
        }
    }

    /// Cuts a description to what is sensible and adds a remark.
    pub(super) fn describe(&mut self, at: &str, keywords: &mut Keywords, remarks: &[String]) {
        let description = keywords.text("description").unwrap_or_default().to_owned();
        let (description, cut) = text::with_remarks(&description, remarks, LONGEST_DESCRIPTION);
        if cut {
            self.losses.widened(
                at,
                "description",
                format!("it is cut after {LONGEST_DESCRIPTION} characters"),
            );
        }
        if !description.is_empty() {
            keywords.put_plain("description", Json::String(description));
        }
    }
}

/// Keywords that judge values of one type only.
const OF_TYPE: [(&str, &[&str]); 3] = [
    (
        "object",
        &[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
        ],
    ),
    (
        "array",
        &[
            "items",
            "prefixItems",
            "contains",
            "minContains",
            "maxContains",
            "minItems",
            "maxItems",
            "uniqueItems",
        ],
    ),
    ("string", &["minLength", "maxLength", "pattern"]),
];

/// Removes what judges values of types that are not allowed.
fn drop_vacuous(keywords: &mut Keywords) {
    let Some(types) = keywords.types() else { return };
    let absent = OF_TYPE.iter().filter(|(name, _)| !types.contains(name));
    let vacuous: Vec<&str> = absent.flat_map(|(_, names)| names.iter().copied()).collect();
    for name in vacuous {
        keywords.take(name);
    }
}

fn value_takes_all(value: &Keyword) -> bool {
    matches!(value, Keyword::Schema(schema) if schema.takes_all())
}

/// Whether no value fits two of these, as far as their types and constants tell.
fn are_disjoint(list: &[Schema]) -> bool {
    let kinds: Vec<Option<Vec<&str>>> =
        list.iter().map(|schema| schema.keywords().and_then(Keywords::types)).collect();
    let all: Option<Vec<&str>> = kinds.into_iter().try_fold(Vec::new(), |mut all, kinds| {
        all.extend(kinds?);
        Some(all)
    });
    let Some(mut all) = all else { return false };
    let number = all.contains(&"number") && all.contains(&"integer");
    let length = all.len();
    all.sort_unstable();
    all.dedup();
    all.len() == length && !number
}
