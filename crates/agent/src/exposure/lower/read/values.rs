//! The values of keywords, and keywords that mean something only beside others.

use std::collections::HashSet;

use super::super::super::json::Json;
use super::super::super::lost::Losses;
use super::super::schema::{Keywords, Shape, TYPES};

/// The value as it is to be kept, if it is of this shape.
pub(super) fn well_formed(shape: Shape, value: &Json) -> Option<Json> {
    let fits = match (shape, value) {
        (Shape::Any, _)
        | (Shape::Text, Json::String(_))
        | (Shape::Flag, Json::Bool(_))
        | (Shape::Number, Json::Number(_)) => true,
        (Shape::Count, Json::Number(_)) => return value.as_u64().map(|count| Json::Number(count.into())),
        (Shape::Values, Json::Array(items)) => !items.is_empty(),
        (Shape::Names, Json::Array(items)) => return names(items),
        (Shape::Types, Json::String(name)) => TYPES.contains(&name.as_str()),
        (Shape::Types, Json::Array(items)) => {
            let names = names(items)?;
            let known = names.as_array()?;
            let all = known.iter().all(|name| name.as_str().is_some_and(|name| TYPES.contains(&name)));
            return match known {
                _ if !all => None,
                [] => None,
                [one] => Some(one.clone()),
                _ => Some(names),
            };
        }
        (Shape::NamesOf, Json::Object(members)) => {
            members.iter().all(|(_, value)| value.as_array().is_some_and(|items| names(items).is_some()))
        }
        _ => false,
    };
    fits.then(|| value.clone())
}

/// A list of names, each once.
fn names(items: &[Json]) -> Option<Json> {
    let mut names: Vec<Json> = Vec::new();
    let mut seen = HashSet::new();
    for item in items {
        if seen.insert(item.as_str()?) {
            names.push(item.clone());
        }
    }
    Some(Json::Array(names))
}

/// Removes what judges nothing because the keyword that it belongs to is not there.
pub(super) fn drop_strays(keywords: &mut Keywords) {
    let belongs = [("then", "if"), ("else", "if"), ("minContains", "contains"), ("maxContains", "contains")];
    for (name, to) in belongs {
        if !keywords.has(to) {
            keywords.take(name);
        }
    }
}

/// `unevaluated…` depends on everything beside it. Alone it says the same as its older relative; otherwise it is lost.
pub(super) fn settle_unevaluated(keywords: &mut Keywords, refers: bool, (at, losses): (&str, &mut Losses)) {
    let applies = ["allOf", "anyOf", "oneOf", "if", "not", "dependentSchemas"];
    let depends = refers || applies.iter().any(|name| keywords.has(name));
    for (name, older) in [("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")] {
        let Some(value) = keywords.take(name) else { continue };
        // `contains` counts as looking at items, too.
        let depends = depends || (name == "unevaluatedItems" && keywords.has("contains"));
        if keywords.has(older) {
            continue;
        }
        if depends {
            losses.widened(at, name, "it depends on everything beside it");
        } else {
            keywords.put(older, value);
        }
    }
}
