//! The top level of a schema: one object with properties, for every dialect.
//!
//! Providers refuse a request whose tool has alternatives at its top level. They are folded into one object that
//! shows the properties of all, and the rule itself is told in the description of the tool. The model's arguments
//! are held against the original.

use std::collections::HashSet;

use super::super::json::Json;
use super::adapt::{Adapter, Unsaid};
use super::conjoin::conjoin;
use super::schema::{Body, Keyword, Keywords, Schema, distinct};

/// Keywords that apply further schemas to the arguments as a whole.
const CONDITIONS: [&str; 5] = ["if", "then", "else", "dependentSchemas", "dependentRequired"];

/// Keywords that judge the arguments as a whole and are no part of an object that is shown.
const WHOLE: [&str; 4] = ["not", "enum", "const", "propertyNames"];

/// The longest rule that is told in words, in characters.
const LONGEST_RULE: usize = 400;

impl Adapter<'_> {
    /// The top level.
    pub(super) fn root(&mut self, schema: Schema) -> Result<Schema, String> {
        let folded = self.folded(schema);
        let Body::Keywords(mut keywords) = folded.body else {
            return Err("no arguments can fit its schema".to_owned());
        };
        if keywords.types().is_some_and(|types| !types.contains(&"object")) {
            return Err("its arguments are no object".to_owned());
        }
        let described = keywords.take_plain("description");
        keywords.take("nullable");
        keywords.put_types(&["object"]);
        let mut unsaid = Unsaid::default();
        let mut keywords = self.keywords("", keywords, &mut unsaid);
        self.remarks.extend(unsaid.remark());
        if let Some(described) = described {
            keywords.put_plain("description", described);
            self.describe("", &mut keywords, &[]);
        }
        if !keywords.has("properties") {
            keywords.put("properties", Keyword::Map(Vec::new()));
        }
        Ok(Schema::new("", keywords))
    }

    /// The schema as one object. What is folded away is told.
    fn folded(&mut self, schema: Schema) -> Schema {
        let flat = self.flat(schema);
        let Body::Keywords(mut keywords) = flat.body else { return flat };
        for part in keywords.take_list("allOf") {
            let rule = part.to_json();
            self.fold_away(&flat.at, "allOf", &rule);
        }
        for name in ["anyOf", "oneOf"] {
            let list = keywords.take_list(name);
            if !list.is_empty() {
                self.fold_alternatives(&flat.at, &mut keywords, (name, list));
            }
        }
        self.fold_conditions(&flat.at, &mut keywords);
        for name in WHOLE {
            if let Some(value) = keywords.take(name) {
                let rule = Json::Object(vec![(name.to_owned(), value.to_json())]);
                self.fold_away(&flat.at, name, &rule);
            }
        }
        Schema::new(&flat.at, keywords)
    }

    /// A rule that only the description tells.
    fn fold_away(&mut self, at: &str, name: &str, rule: &Json) {
        self.losses.widened(at, name, "it may not stand at the top level");
        self.tell(rule);
    }

    fn tell(&mut self, rule: &Json) {
        if rule.length(LONGEST_RULE) <= LONGEST_RULE {
            self.remarks.push(format!("The arguments must also fit this JSON Schema: {rule}"));
        } else {
            self.remarks.push(
                "Further rules hold for these arguments; a call that breaks one says which.".to_owned(),
            );
        }
    }

    /// Shows the properties of all alternatives in one object.
    fn fold_alternatives(
        &mut self,
        at: &str,
        keywords: &mut Keywords,
        (name, list): (&'static str, Vec<Schema>),
    ) {
        let rule = sentence(name, &list, &keywords.names("required"));
        let raw = || Json::Object(vec![(name.to_owned(), Keyword::List(list.clone()).to_json())]);
        self.losses.widened(
            at,
            name,
            "alternatives may not stand at the top level; all are shown as one object",
        );
        match rule {
            Some(rule) => self.remarks.push(rule),
            None => self.tell(&raw()),
        }
        let told = self.remarks.len();
        let branches: Vec<Keywords> = list
            .into_iter()
            .map(|branch| self.folded(branch))
            .filter(|branch| !branch.is_false())
            .map(Schema::into_keywords)
            .filter(|branch| branch.types().is_none_or(|types| types.contains(&"object")))
            .collect();
        // What holds within one alternative is part of the rule that was told.
        self.remarks.truncate(told);
        let mut properties = keywords.map("properties").to_vec();
        let new = self.union(at, &mut properties, &branches);
        if !properties.is_empty() {
            keywords.put("properties", Keyword::Map(properties));
        }
        let common = common_required(&branches);
        let mut required: Vec<String> = keywords.names("required").into_iter().map(str::to_owned).collect();
        required.extend(common.into_iter().filter(|name| !required.contains(name)).collect::<Vec<_>>());
        keywords.put_names("required", &required.iter().map(String::as_str).collect::<Vec<_>>());
        self.settle_rest(at, keywords, &branches, new);
    }

    /// Adds the properties of the alternatives. Says whether there were new ones.
    fn union(&mut self, at: &str, properties: &mut Vec<(String, Schema)>, branches: &[Keywords]) -> bool {
        let mut known = HashSet::new();
        let names = branches.iter().flat_map(|branch| branch.map("properties")).map(|(name, _)| name);
        let order: Vec<&String> = names.filter(|name| known.insert(*name)).collect();
        let mut new = false;
        for name in order {
            let variants: Vec<&Schema> = branches.iter().filter_map(|branch| named(branch, name)).collect();
            let everywhere = variants.len() == branches.len();
            let mut variants = distinct(variants.into_iter().filter(|schema| !schema.is_false()).cloned());
            let shown = match variants.len() {
                0 => continue,
                1 => variants.remove(0),
                _ => {
                    let mut keywords = Keywords::default();
                    let at = variants[0].at.clone();
                    keywords.put("anyOf", Keyword::List(variants));
                    Schema::new(&at, keywords)
                }
            };
            match properties.iter_mut().find(|(known, _)| known == name) {
                // Where only some alternatives say more of it, what all say stands.
                Some((_, own)) if everywhere || own.takes_all() => {
                    self.show_typed(at, everywhere || branches.iter().all(is_closed));
                    *own = conjoin(own.clone(), shown, self.losses);
                }
                Some(_) => {}
                None => {
                    new = true;
                    let closed =
                        branches.iter().all(|branch| named(branch, name).is_some() || is_closed(branch));
                    self.show_typed(at, everywhere || closed);
                    properties.push((name.clone(), shown));
                }
            }
        }
        new
    }

    /// Another alternative may leave open what this one says of a property.
    fn show_typed(&mut self, at: &str, exact: bool) {
        if !exact {
            self.losses.narrowed(
                at,
                "properties",
                "a property is shown as the alternative that names it has it",
            );
        }
    }

    /// What holds for members that nobody names.
    fn settle_rest(&mut self, at: &str, keywords: &mut Keywords, branches: &[Keywords], new: bool) {
        let all_closed = !branches.is_empty() && branches.iter().all(is_closed);
        match keywords.schema("additionalProperties") {
            None if all_closed && !keywords.has("patternProperties") => {
                let nothing = Schema { at: at.to_owned(), body: Body::Bool(false) };
                keywords.put("additionalProperties", Keyword::Schema(Box::new(nothing)));
            }
            // The members of the alternatives fall under it, but are shown.
            Some(rest) if new && !rest.takes_all() => {
                self.losses.widened(
                    at,
                    "additionalProperties",
                    "the members of the alternatives are shown, too",
                );
            }
            _ => {}
        }
    }

    /// Conditions: the properties that only they name are shown, the rest is told.
    fn fold_conditions(&mut self, at: &str, keywords: &mut Keywords) {
        let mut rule: Vec<(String, Json)> = Vec::new();
        let mut applied: Vec<Schema> = Vec::new();
        for name in CONDITIONS {
            let Some(value) = keywords.take(name) else { continue };
            rule.push((name.to_owned(), value.to_json()));
            if name != "if" {
                applied.extend(value.schemas().into_iter().cloned());
            }
            self.losses.widened(at, name, "conditions may not stand at the top level");
        }
        if rule.is_empty() {
            return;
        }
        self.tell(&Json::Object(rule));
        let told = self.remarks.len();
        let parts: Vec<Keywords> =
            applied.into_iter().map(|part| self.folded(part).into_keywords()).collect();
        self.remarks.truncate(told);
        let mut properties = keywords.map("properties").to_vec();
        for (name, schema) in parts.iter().flat_map(|part| part.map("properties")) {
            if !schema.is_false() && properties.iter().all(|(known, _)| known != name) {
                if !schema.takes_all() {
                    let why = "a property is shown as it is under a condition";
                    self.losses.narrowed(at, "properties", why);
                }
                properties.push((name.clone(), schema.clone()));
            }
        }
        if !properties.is_empty() {
            keywords.put("properties", Keyword::Map(properties));
        }
    }
}

fn named<'a>(branch: &'a Keywords, name: &str) -> Option<&'a Schema> {
    branch.map("properties").iter().find(|(known, _)| known == name).map(|(_, schema)| schema)
}

fn is_closed(branch: &Keywords) -> bool {
    branch.schema("additionalProperties").is_some_and(Schema::is_false) && !branch.has("patternProperties")
}

/// The names that every alternative requires.
fn common_required(branches: &[Keywords]) -> Vec<String> {
    let Some((first, others)) = branches.split_first() else { return Vec::new() };
    let everywhere = |name: &&str| others.iter().all(|other| other.names("required").contains(name));
    first.names("required").into_iter().filter(everywhere).map(str::to_owned).collect()
}

/// Alternatives that differ in what they require, in words.
fn sentence(name: &str, list: &[Schema], required: &[&str]) -> Option<String> {
    let mut choices: Vec<String> = Vec::new();
    for branch in list {
        let keywords = branch.keywords()?;
        let plain = |(name, _): (&'static str, &Keyword)| {
            matches!(
                name,
                "required" | "properties" | "type" | "title" | "description" | "additionalProperties"
            )
        };
        if !keywords.iter().all(plain) {
            return None;
        }
        let names: Vec<&str> =
            keywords.names("required").into_iter().filter(|name| !required.contains(name)).collect();
        if names.is_empty() {
            return None;
        }
        choices.push(names.join(" and "));
    }
    let number = if name == "oneOf" { "exactly one" } else { "at least one" };
    let sentence = format!("Give {number} of: {}.", choices.join("; "));
    (sentence.chars().count() <= LONGEST_RULE).then_some(sentence)
}
