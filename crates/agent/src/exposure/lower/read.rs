//! Reads an original schema: follows its references, and spells what older drafts spell otherwise as 2020-12 does.
//!
//! What is inlined is bounded: a few hundred bytes of references can stand for millions of subschemas. Where that
//! happens, what lies deep is widened until the rest fits. Where to look next: `adapt`, which takes the result.

mod values;

use self::values::{drop_strays, settle_unevaluated, well_formed};
use super::super::json::Json;
use super::super::lost::Losses;
use super::conjoin::conjoin;
use super::schema::{ANNOTATIONS, Keyword, Keywords, Schema, Shape, shape, step};
use super::source::{Draft, Place, Source};

/// Subschemas that one tool may have at most once everything is inlined.
const MOST_SUBSCHEMAS: usize = 5_000;

/// Subschemas that any tool may have.
const FREE_SUBSCHEMAS: usize = 200;

/// How many times as large as the original the inlined schema may be.
const GROWTH: usize = 3;

/// References that lead to one another without descending.
const LONGEST_CHAIN: usize = 64;

/// How deep subschemas are shown, and how often one that holds itself is shown inside itself; the first pair that
/// fits is taken.
const ATTEMPTS: [(usize, usize); 9] =
    [(24, 2), (24, 1), (12, 1), (8, 1), (6, 1), (4, 1), (3, 1), (2, 1), (1, 1)];

/// Passes for finding the subschemas that hold themselves.
const PASSES: usize = 6;

/// A schema without references, but to `definitions` where they are kept.
pub(super) struct Read {
    pub(super) root: Schema,
    /// What refers to itself, by name; empty if references are not kept.
    pub(super) definitions: Vec<(String, Schema)>,
}

struct TooLarge;

/// Reads the document. With `keep`, what holds itself becomes a definition; without, it is cut at a depth.
pub(super) fn read(source: &Source<'_>, keep: bool, losses: &mut Losses) -> Result<Read, String> {
    let budget = MOST_SUBSCHEMAS.min(FREE_SUBSCHEMAS + GROWTH * objects(source.root));
    for (depth, unrolled) in ATTEMPTS {
        let mut kept: Vec<String> = Vec::new();
        for pass in 0..PASSES {
            let mut reader = Reader {
                source,
                limits: Limits { budget, depth, unrolled },
                keep: (keep && pass + 1 < PASSES).then(|| kept.clone()),
                found: Vec::new(),
                stack: Vec::new(),
                names: Vec::new(),
                nodes: 0,
                losses: Losses::default(),
            };
            let Ok(read) = reader.document() else { break };
            if reader.found.is_empty() {
                losses.append(reader.losses);
                return Ok(read);
            }
            kept.append(&mut reader.found);
        }
    }
    Err(format!("its schema has more than {budget} parts"))
}

/// The objects of a document, which are its subschemas and a little more.
fn objects(json: &Json) -> usize {
    match json {
        Json::Object(members) => 1 + members.iter().map(|(_, value)| objects(value)).sum::<usize>(),
        Json::Array(items) => items.iter().map(objects).sum(),
        _ => 0,
    }
}

struct Limits {
    budget: usize,
    depth: usize,
    unrolled: usize,
}

struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    limits: Limits,
    /// The places that become definitions, if any may.
    keep: Option<Vec<String>>,
    /// The places that were found to hold themselves in this pass.
    found: Vec<String>,
    /// The places whose references are being followed.
    stack: Vec<String>,
    /// The definitions: their names and places.
    names: Vec<(String, Place<'a>)>,
    nodes: usize,
    losses: Losses,
}

impl<'a> Reader<'_, 'a> {
    fn document(&mut self) -> Result<Read, TooLarge> {
        let root = self.schema(&self.source.start(), 0)?;
        let mut definitions = Vec::new();
        while let Some((name, place)) = self.names.get(definitions.len()).cloned() {
            self.stack = vec![place.at.clone()];
            definitions.push((name, self.schema(&place, 1)?));
        }
        Ok(Read { root, definitions })
    }

    fn schema(&mut self, place: &Place<'a>, depth: usize) -> Result<Schema, TooLarge> {
        self.nodes += 1;
        if self.nodes > self.limits.budget {
            return Err(TooLarge);
        }
        let members = match place.json {
            Json::Bool(true) => return Ok(Schema::any(&place.at)),
            Json::Bool(false) => {
                return Ok(Schema { at: place.at.clone(), body: super::schema::Body::Bool(false) });
            }
            Json::Object(members) => members,
            _ => {
                self.losses.widened(&place.at, "schema", "it is neither an object nor a boolean");
                return Ok(Schema::any(&place.at));
            }
        };
        if depth > self.limits.depth {
            self.losses.widened(&place.at, "schema", "it lies too deep to be shown");
            return Ok(self.cut(place));
        }
        let place = self.source.entered(place.clone());
        let reference = reference(members);
        let ignoring = reference.is_some() && self.source.draft <= Draft::Seven;
        let mut keywords = Keywords::default();
        for (name, value) in members {
            let reads =
                if ignoring { ANNOTATIONS.contains(&name.as_str()) } else { self.source.draft.knows(name) };
            if reads {
                self.keyword(&mut keywords, &place, (name, value), depth)?;
            }
        }
        drop_strays(&mut keywords);
        settle_unevaluated(&mut keywords, reference.is_some(), (&place.at, &mut self.losses));
        let schema = Schema::new(&place.at, keywords);
        let Some((keyword, text)) = reference else { return Ok(schema) };
        let target = self.target(&place, (keyword, text), depth)?;
        Ok(conjoin(schema, target, &mut self.losses))
    }

    /// What a reference leads to.
    fn target(
        &mut self,
        place: &Place<'a>,
        (keyword, text): (&str, &str),
        depth: usize,
    ) -> Result<Schema, TooLarge> {
        let target = if keyword == "$dynamicRef" {
            self.source.resolve_dynamic(place, text)
        } else {
            self.source.resolve(place, text)
        };
        let Some(target) = target else {
            self.losses.widened(&place.at, keyword, "it leads to no single place in the schema");
            return Ok(Schema::any(&place.at));
        };
        let times = self.stack.iter().filter(|open| **open == target.at).count();
        let holds_root = target.at.is_empty();
        if let Some(kept) = &self.keep {
            if kept.contains(&target.at) {
                return Ok(self.pointer(&place.at, target));
            }
            if times > 0 || holds_root {
                if !self.found.contains(&target.at) {
                    self.found.push(target.at);
                }
                return Ok(Schema::any(&place.at));
            }
        }
        if times + usize::from(holds_root) > self.limits.unrolled || self.stack.len() >= LONGEST_CHAIN {
            self.losses.widened(&target.at, keyword, "it holds itself and is shown a few levels deep only");
            return Ok(self.cut(&target));
        }
        self.stack.push(target.at.clone());
        let schema = self.schema(&target, depth)?;
        self.stack.pop();
        Ok(schema)
    }

    /// A reference to a definition.
    fn pointer(&mut self, at: &str, target: Place<'a>) -> Schema {
        let text = if target.at.is_empty() {
            "#".to_owned()
        } else {
            let known = self.names.iter().find(|(_, place)| place.at == target.at);
            let name = known.map(|(name, _)| name.clone()).unwrap_or_else(|| {
                let name = self.definition_name(&target.at);
                self.names.push((name.clone(), target));
                name
            });
            format!("#/$defs/{name}")
        };
        let mut keywords = Keywords::default();
        keywords.put_plain("$ref", Json::String(text));
        Schema::new(at, keywords)
    }

    /// A name that is free: what the place is called, as far as that is plain.
    fn definition_name(&self, at: &str) -> String {
        let plain: String = at
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .chars()
            .filter(|character| character.is_ascii_alphanumeric() || *character == '_')
            .take(48)
            .collect();
        let plain = if plain.is_empty() { "part".to_owned() } else { plain };
        let taken = |name: &str| self.names.iter().any(|(known, _)| known == name);
        if !taken(&plain) {
            return plain;
        }
        let numbered = |number: usize| format!("{plain}_{number}");
        (2..).map(numbered).find(|name| !taken(name)).unwrap_or(plain)
    }

    /// What can be said of a schema in one line: a widening of it.
    fn cut(&mut self, place: &Place<'a>) -> Schema {
        let mut keywords = Keywords::default();
        let mut place = place.clone();
        for _ in 0..LONGEST_CHAIN {
            for name in ["type", "title", "description"] {
                let follows = reference(place.json.as_object().unwrap_or_default()).is_some();
                let judges = name != "type" || !follows || self.source.draft > Draft::Seven;
                if let Some(value) = place.json.member(name).filter(|_| judges && !keywords.has(name)) {
                    self.plain(&mut keywords, (&place, name), value);
                }
            }
            let next = match reference(place.json.as_object().unwrap_or_default()) {
                Some(("$ref", text)) => self.source.resolve(&place, text),
                _ => None,
            };
            let Some(next) = next else { break };
            place = next;
        }
        Schema::new(&place.at, keywords)
    }

    fn keyword(
        &mut self,
        into: &mut Keywords,
        place: &Place<'a>,
        (name, value): (&str, &'a Json),
        depth: usize,
    ) -> Result<(), TooLarge> {
        match (name, value) {
            ("items", Json::Array(items)) => return self.tuple(into, place, (name, items), depth),
            ("prefixItems", Json::Array(items)) => return self.tuple(into, place, (name, items), depth),
            ("additionalItems", _) => return self.rest(into, place, value, depth),
            ("dependencies", Json::Object(of)) => return self.dependencies(into, place, of, depth),
            ("exclusiveMinimum" | "exclusiveMaximum", Json::Bool(exclusive)) => {
                self.exclusive(into, (place, name), *exclusive);
                return Ok(());
            }
            ("minimum" | "maximum", _) if is_exclusive(place.json, name) => return Ok(()),
            // Only the compiler writes these.
            ("$ref" | "$defs" | "nullable" | "x-ignored" | "contentSchema", _) => return Ok(()),
            _ => {}
        }
        let Some((name, kind)) = shape(name) else { return Ok(()) };
        let before = self.losses.count();
        let read = match (kind, value) {
            (Shape::Schema, Json::Object(_) | Json::Bool(_)) => {
                let schema = self.schema(&place.below(value, name), depth + 1)?;
                Keyword::Schema(Box::new(schema))
            }
            (Shape::Schemas, Json::Array(items)) if !items.is_empty() => {
                Keyword::List(self.schemas(place, name, items, depth)?)
            }
            (Shape::SchemaMap, Json::Object(members)) => {
                let mut map = Vec::with_capacity(members.len());
                for (key, json) in members {
                    let below = place.below(json, &format!("{name}/{}", step(key)));
                    map.push((key.clone(), self.schema(&below, depth + 1)?));
                }
                Keyword::Map(map)
            }
            _ => {
                self.plain(into, (place, name), value);
                return Ok(());
            }
        };
        let exact = self.losses.count() == before;
        self.put_read(into, (place, name), read, exact);
        Ok(())
    }

    /// Keeps a keyword with subschemas, unless they were widened and it turns that round.
    fn put_read(
        &mut self,
        into: &mut Keywords,
        (place, name): (&Place<'a>, &'static str),
        read: Keyword,
        exact: bool,
    ) {
        match (name, read) {
            ("not" | "if", _) if !exact => {
                self.losses.widened(&place.at, name, "what it holds cannot be shown in full");
            }
            ("oneOf", Keyword::List(list)) if !exact => {
                self.losses.widened(
                    &place.at,
                    name,
                    "its alternatives are not shown in full, so they may overlap",
                );
                let mut keywords = Keywords::default();
                keywords.put("anyOf", Keyword::List(list));
                let mut all = into.take_list("allOf");
                all.push(Schema::new(&place.at, keywords));
                into.put("allOf", Keyword::List(all));
            }
            ("contains", _) if !exact && place.json.member("maxContains").is_some() => {
                self.losses.widened(&place.at, name, "what it holds cannot be shown in full");
            }
            ("allOf", Keyword::List(mut list)) => {
                let mut all = into.take_list("allOf");
                all.append(&mut list);
                into.put("allOf", Keyword::List(all));
            }
            (_, read) => into.put(name, read),
        }
    }

    fn schemas(
        &mut self,
        place: &Place<'a>,
        name: &str,
        items: &'a [Json],
        depth: usize,
    ) -> Result<Vec<Schema>, TooLarge> {
        let below = |(at, json)| place.below(json, &format!("{name}/{at}"));
        items.iter().enumerate().map(below).map(|place| self.schema(&place, depth + 1)).collect()
    }

    /// A tuple, as any draft spells it.
    fn tuple(
        &mut self,
        into: &mut Keywords,
        place: &Place<'a>,
        (name, items): (&str, &'a [Json]),
        depth: usize,
    ) -> Result<(), TooLarge> {
        if !items.is_empty() {
            let list = self.schemas(place, name, items, depth)?;
            into.put("prefixItems", Keyword::List(list));
        }
        Ok(())
    }

    /// What follows a tuple, as older drafts spell it; without a tuple it judges nothing.
    fn rest(
        &mut self,
        into: &mut Keywords,
        place: &Place<'a>,
        value: &'a Json,
        depth: usize,
    ) -> Result<(), TooLarge> {
        let follows_tuple = matches!(place.json.member("items"), Some(Json::Array(_)));
        if follows_tuple && matches!(value, Json::Object(_) | Json::Bool(_)) {
            let schema = self.schema(&place.below(value, "additionalItems"), depth + 1)?;
            into.put("items", Keyword::Schema(Box::new(schema)));
        }
        Ok(())
    }

    /// What `dependencies` says, in the two keywords of later drafts.
    fn dependencies(
        &mut self,
        into: &mut Keywords,
        place: &Place<'a>,
        of: &'a [(String, Json)],
        depth: usize,
    ) -> Result<(), TooLarge> {
        let (mut names, mut schemas) = (Vec::new(), Vec::new());
        for (key, value) in of {
            match value {
                Json::Array(_) => names.push((key.clone(), value.clone())),
                _ => {
                    let below = place.below(value, &format!("dependencies/{}", step(key)));
                    schemas.push((key.clone(), self.schema(&below, depth + 1)?));
                }
            }
        }
        if !names.is_empty() {
            self.plain(into, (place, "dependentRequired"), &Json::Object(names));
        }
        if !schemas.is_empty() {
            into.put("dependentSchemas", Keyword::Map(schemas));
        }
        Ok(())
    }

    /// A limit that is exclusive by a flag beside it.
    fn exclusive(&mut self, into: &mut Keywords, (place, name): (&Place<'a>, &str), exclusive: bool) {
        let (limit, name) = if name == "exclusiveMinimum" {
            ("minimum", "exclusiveMinimum")
        } else {
            ("maximum", "exclusiveMaximum")
        };
        if let Some(value @ Json::Number(_)) = place.json.member(limit).filter(|_| exclusive) {
            into.put_plain(name, value.clone());
        }
    }

    /// A keyword without subschemas, if its value is what the keyword takes.
    fn plain(&mut self, into: &mut Keywords, (place, name): (&Place<'a>, &str), value: &Json) {
        let Some((name, kind)) = shape(name) else { return };
        match well_formed(kind, value) {
            Some(Json::String(text)) if text.is_empty() && ANNOTATIONS.contains(&name) => {}
            Some(value) => into.put_plain(name, value),
            // Absent, as some servers write it.
            None if *value == Json::Null => {}
            None => self.losses.widened(&place.at, name, "its value is not what the keyword takes"),
        }
    }
}

/// The reference of a schema.
fn reference(members: &[(String, Json)]) -> Option<(&'static str, &str)> {
    let find =
        |name: &str| members.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_str());
    ["$ref", "$dynamicRef", "$recursiveRef"].into_iter().find_map(|name| Some((name, find(name)?)))
}

fn is_exclusive(json: &Json, limit: &str) -> bool {
    let flag = if limit == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
    json.member(flag) == Some(&Json::Bool(true))
}
