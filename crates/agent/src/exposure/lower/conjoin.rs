//! Joins two schemas that judge the same value into one.
//!
//! What cannot be said in one set of keywords stays apart, in `allOf`. Nothing is ever made stricter than the two
//! are together.

use std::collections::HashMap;

use super::super::json::Json;
use super::super::lost::Losses;
use super::schema::{ANNOTATIONS, Body, Keyword, Keywords, Schema};

/// Keywords that are one statement together.
const GROUPS: [&[&str]; 3] =
    [&["if", "then", "else"], &["contains", "minContains", "maxContains"], &["items", "prefixItems"]];

/// The schema that takes what both take. Of annotations, those of `base` stay.
pub(super) fn conjoin(base: Schema, other: Schema, losses: &mut Losses) -> Schema {
    let (mut left, mut right) = match (base.body, other.body) {
        (Body::Bool(false), _) | (_, Body::Bool(false)) => {
            return Schema { at: base.at, body: Body::Bool(false) };
        }
        (Body::Bool(true), body) => return Schema { at: other.at, body },
        (body, Body::Bool(true)) => return Schema { at: base.at, body },
        (Body::Keywords(left), Body::Keywords(right)) => (left, right),
    };
    if left.is_empty() {
        return Schema::new(&other.at, right);
    }
    let mut apart = Keywords::default();
    members(&mut left, &mut right, (&base.at, losses));
    for group in GROUPS {
        keep_apart(group, &left, &mut right, &mut apart);
    }
    for (name, value) in right.into_iter() {
        let joined = match left.find(name) {
            None => Some(value),
            Some(own) if own.to_json() == value.to_json() || ANNOTATIONS.contains(&name) => continue,
            Some(own) => joined(name, own, &value, losses).or_else(|| {
                apart.put(name, value);
                None
            }),
        };
        if let Some(joined) = joined {
            left.put(name, joined);
        }
    }
    if !apart.is_empty() {
        let mut all = left.take_list("allOf");
        all.push(Schema::new(&other.at, apart));
        left.put("allOf", Keyword::List(all));
    }
    Schema::new(&base.at, left)
}

/// Moves a group of keywords out of the way if both sides use it, but for plain `items`, which can be joined.
fn keep_apart(group: &[&'static str], left: &Keywords, right: &mut Keywords, apart: &mut Keywords) {
    let uses = |side: &Keywords| group.iter().any(|name| side.has(name));
    let plain = !left.has("prefixItems") && !right.has("prefixItems");
    if !uses(left) || !uses(right) || (group[0] == "items" && plain) {
        return;
    }
    for name in group {
        if let Some(value) = right.take(name) {
            apart.put(name, value);
        }
    }
}

/// One value for both, if there is one.
fn joined(name: &str, own: &Keyword, other: &Keyword, losses: &mut Losses) -> Option<Keyword> {
    if let (Keyword::List(own), Keyword::List(other)) = (own, other)
        && name == "allOf"
    {
        return Some(Keyword::List(own.iter().chain(other).cloned().collect()));
    }
    if let (Keyword::Schema(own), Keyword::Schema(other)) = (own, other)
        && matches!(name, "items" | "propertyNames")
    {
        return Some(Keyword::Schema(Box::new(conjoin((**own).clone(), (**other).clone(), losses))));
    }
    let (Keyword::Plain(own), Keyword::Plain(other)) = (own, other) else { return None };
    let json = match name {
        "type" => types(own, other)?,
        "required" => union(own, other)?,
        "enum" => common(own, other)?,
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            if own.as_f64()? >= other.as_f64()? { own.clone() } else { other.clone() }
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            if own.as_f64()? <= other.as_f64()? { own.clone() } else { other.clone() }
        }
        "uniqueItems" => Json::Bool(true),
        _ => return None,
    };
    Some(Keyword::Plain(json))
}

fn types(own: &Json, other: &Json) -> Option<Json> {
    let list = |json: &Json| -> Vec<String> {
        match json {
            Json::String(one) => vec![one.clone()],
            _ => json
                .as_array()
                .unwrap_or_default()
                .iter()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect(),
        }
    };
    let (own, other) = (list(own), list(other));
    let has = |side: &[String], name: &str| {
        side.iter().any(|known| known == name || (name == "integer" && known == "number"))
    };
    let mut both: Vec<&String> = own.iter().filter(|name| has(&other, name)).collect();
    both.extend(other.iter().filter(|name| has(&own, name) && !own.contains(name)));
    match both.as_slice() {
        [] => None,
        [one] => Some(Json::text(one.as_str())),
        several => Some(Json::Array(several.iter().map(|name| Json::text(name.as_str())).collect())),
    }
}

fn union(own: &Json, other: &Json) -> Option<Json> {
    let mut names = own.as_array()?.to_vec();
    let more: Vec<Json> = other.as_array()?.iter().filter(|name| !names.contains(name)).cloned().collect();
    names.extend(more);
    Some(Json::Array(names))
}

/// The values of both lists, if there are any. Compared as texts: lists may be long.
fn common(own: &Json, other: &Json) -> Option<Json> {
    let other: std::collections::HashSet<String> = other.as_array()?.iter().map(Json::to_string).collect();
    let both: Vec<Json> =
        own.as_array()?.iter().filter(|value| other.contains(&value.to_string())).cloned().collect();
    (!both.is_empty()).then_some(Json::Array(both))
}

/// The members that both sides describe, joined into the left side.
///
/// A member that one side names and the other does not falls under what the other says of further members. Where
/// that is "none", it is kept all the same: it is better seen than hidden, and the original decides.
fn members(left: &mut Keywords, right: &mut Keywords, (at, losses): (&str, &mut Losses)) {
    let names = ["properties", "patternProperties", "additionalProperties"];
    let uses = |side: &Keywords| names.iter().any(|name| side.has(name));
    if !uses(left) || !uses(right) {
        return;
    }
    let theirs = Side::take(right);
    let ours = Side { named: left.map("properties").to_vec(), ..Side::of(left) };
    let mut lossy = false;
    let mut their_names: HashMap<String, Schema> = theirs.named.iter().cloned().collect();
    let mut merged: Vec<(String, Schema)> = Vec::with_capacity(ours.named.len() + theirs.named.len());
    for (name, schema) in ours.named.clone() {
        let other = their_names.remove(&name);
        let both = match other {
            Some(other) => conjoin(schema, other, losses),
            None => theirs.judge(schema, losses, &mut lossy),
        };
        merged.push((name, both));
    }
    for (name, schema) in theirs.named.iter().filter(|(name, _)| their_names.contains_key(name)) {
        merged.push((name.clone(), ours.judge(schema.clone(), losses, &mut lossy)));
    }
    let mut patterns = ours.patterns.clone();
    for (pattern, schema) in theirs.patterns.clone() {
        match patterns.iter_mut().find(|(known, _)| *known == pattern) {
            Some((_, own)) => *own = conjoin(own.clone(), schema, losses),
            None => patterns.push((pattern, schema)),
        }
    }
    lossy |= !patterns.is_empty() && (ours.rest.is_some() || theirs.rest.is_some());
    let rest = match (ours.rest, theirs.rest) {
        (Some(own), Some(other)) => Some(conjoin(own, other, losses)),
        (own, other) => own.or(other),
    };
    if lossy {
        losses.widened(at, "additionalProperties", "two descriptions of one object are shown as one");
    }
    put_map(left, "properties", merged);
    put_map(left, "patternProperties", patterns);
    if let Some(rest) = rest {
        left.put("additionalProperties", Keyword::Schema(Box::new(rest)));
    }
}

/// What one side says of members.
struct Side {
    named: Vec<(String, Schema)>,
    patterns: Vec<(String, Schema)>,
    rest: Option<Schema>,
}

impl Side {
    fn of(keywords: &Keywords) -> Self {
        Self {
            named: Vec::new(),
            patterns: keywords.map("patternProperties").to_vec(),
            rest: keywords.schema("additionalProperties").cloned(),
        }
    }

    fn take(keywords: &mut Keywords) -> Self {
        Self {
            named: keywords.take_map("properties"),
            patterns: keywords.take_map("patternProperties"),
            rest: keywords.take_schema("additionalProperties"),
        }
    }

    /// A member that this side does not name.
    fn judge(&self, schema: Schema, losses: &mut Losses, lossy: &mut bool) -> Schema {
        match &self.rest {
            Some(rest) if rest.is_false() || !self.patterns.is_empty() => {
                *lossy = true;
                schema
            }
            Some(rest) if !rest.takes_all() => conjoin(schema, rest.clone(), losses),
            _ => schema,
        }
    }
}

fn put_map(keywords: &mut Keywords, name: &'static str, map: Vec<(String, Schema)>) {
    if !map.is_empty() || keywords.has(name) {
        keywords.put(name, Keyword::Map(map));
    }
}
