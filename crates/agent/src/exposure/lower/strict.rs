//! The last step for OpenAI's strict mode: every object closed, every property required, what may be absent nullable.
//!
//! What cannot be said so makes the whole tool fall back to the ordinary mode, with the reason. Where `null` was
//! added is remembered, because there it means "absent" [`Nulls`]. Where to look next: `turn/arguments`, which
//! takes such nulls out again.

use std::collections::HashSet;

use super::super::json::Json;
use super::super::lost::{Losses, Lost};
use super::schema::{ANNOTATIONS, Keyword, Keywords, Schema, step};

/// Limits of "Structured Outputs: supported schemas".
const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_VALUES: usize = 1_000;
const MOST_TEXT: usize = 120_000;
const LONG_LIST: usize = 250;
const LONG_LIST_TEXT: usize = 15_000;

/// A schema in strict form.
pub(super) struct Strict {
    pub(super) root: Schema,
    pub(super) definitions: Vec<(String, Schema)>,
    /// Places in the strict schema (JSON pointers) where `null` stands for what is absent.
    pub(super) nulls: HashSet<String>,
}

/// Lowers a schema that the strict dialect's keywords are left of.
pub(super) fn strict(
    root: Schema,
    definitions: Vec<(String, Schema)>,
    losses: &mut Losses,
) -> Result<Strict, Lost> {
    let mut walk = Walk { losses, nulls: HashSet::new(), properties: 0, values: 0, text: 0 };
    let root = walk.schema(root, "", 1)?;
    let mut done = Vec::with_capacity(definitions.len());
    for (name, schema) in definitions {
        walk.text += name.len();
        let at = format!("/$defs/{}", step(&name));
        done.push((name, walk.schema(schema, &at, 1)?));
    }
    walk.within_limits()?;
    Ok(Strict { root, definitions: done, nulls: walk.nulls })
}

struct Walk<'a> {
    losses: &'a mut Losses,
    nulls: HashSet<String>,
    properties: usize,
    values: usize,
    text: usize,
}

/// Why a tool cannot be strict.
fn refused(at: &str, why: impl Into<String>) -> Lost {
    Lost { path: at.to_owned(), what: "strict".to_owned(), why: why.into(), narrows: false }
}

impl Walk<'_> {
    /// `at` is the place in the result.
    fn schema(&mut self, schema: Schema, at: &str, level: usize) -> Result<Schema, Lost> {
        let from = schema.at.clone();
        if level > MOST_LEVELS {
            return Err(refused(&from, format!("it is nested more than {MOST_LEVELS} levels deep")));
        }
        let mut keywords = schema.into_keywords();
        // A reference stands alone; annotations do not matter to what it refers to.
        if let Some(reference) = keywords.take("$ref") {
            return Ok(self.reference(&from, reference, &keywords));
        }
        keywords = self.constants(&from, keywords)?;
        if keywords.has("anyOf") {
            return self.alternatives(&from, keywords, (at, level));
        }
        let Some(types) =
            keywords.types().map(|types| types.into_iter().map(str::to_owned).collect::<Vec<_>>())
        else {
            return Err(refused(&from, "it does not say which type a value has"));
        };
        if types.iter().any(|name| name == "object") {
            keywords = self.object(&from, keywords, (at, level))?;
        }
        if types.iter().any(|name| name == "array") {
            let items = keywords.take_schema("items").unwrap_or_else(|| Schema::any(&from));
            let items = self.schema(items, &format!("{at}/items"), level + 1)?;
            keywords.put("items", Keyword::Schema(Box::new(items)));
        }
        Ok(Schema::new(&from, keywords))
    }

    fn reference(&mut self, from: &str, reference: Keyword, beside: &Keywords) -> Schema {
        for (name, _) in beside.iter().filter(|(name, _)| !ANNOTATIONS.contains(name)) {
            self.losses.widened(from, name, "nothing may stand beside a reference in strict mode");
        }
        let mut alone = Keywords::default();
        alone.put("$ref", reference);
        Schema::new(from, alone)
    }

    /// `const` as a list of one, and a type for lists of values.
    fn constants(&mut self, from: &str, mut keywords: Keywords) -> Result<Keywords, Lost> {
        if let Some(value) = keywords.take_plain("const") {
            if keywords.has("enum") {
                self.losses.widened(from, "const", "there is an enum beside it");
            } else {
                keywords.put_plain("enum", Json::Array(vec![value]));
            }
        }
        let Some(values) = keywords.plain("enum").and_then(Json::as_array) else { return Ok(keywords) };
        self.values += values.len();
        let text: usize = values.iter().filter_map(Json::as_str).map(|text| text.chars().count()).sum();
        self.text += text;
        if values.len() > LONG_LIST && text > LONG_LIST_TEXT {
            return Err(refused(from, "its list of values is longer than strict mode takes"));
        }
        if values.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) {
            return Err(refused(from, "its list holds values that are no single ones"));
        }
        if !keywords.has("type") {
            let mut types: Vec<&'static str> = Vec::new();
            for value in values {
                if !types.contains(&value.type_name()) {
                    types.push(value.type_name());
                }
            }
            keywords.put_types(&types);
        }
        Ok(keywords)
    }

    /// Alternatives, with what stands beside them.
    fn alternatives(
        &mut self,
        from: &str,
        mut keywords: Keywords,
        (at, level): (&str, usize),
    ) -> Result<Schema, Lost> {
        let list = keywords.take_list("anyOf");
        let mut shown = Keywords::default();
        let described = keywords.take("description");
        // An alternative that says nothing of the type, beside a type for all.
        let beside = Schema::new(from, keywords);
        let mut done = Vec::with_capacity(list.len());
        for (index, schema) in list.into_iter().enumerate() {
            let joined = super::conjoin::conjoin(schema, beside.clone(), self.losses);
            if joined.keywords().is_some_and(|keywords| keywords.has("allOf")) {
                return Err(refused(from, "its alternatives cannot be told without allOf"));
            }
            done.push(self.schema(joined, &format!("{at}/anyOf/{index}"), level)?);
        }
        shown.put("anyOf", Keyword::List(done));
        if let Some(described) = described {
            shown.put("description", described);
        }
        Ok(Schema::new(from, shown))
    }

    fn object(
        &mut self,
        from: &str,
        mut keywords: Keywords,
        (at, level): (&str, usize),
    ) -> Result<Keywords, Lost> {
        let rest = keywords.take("additionalProperties").map(|rest| rest.to_json());
        let closed = rest == Some(Json::Bool(false));
        let properties = keywords.take_map("properties");
        if rest.is_some() && !closed {
            return Err(refused(from, "its members may have any name"));
        }
        // An open object without properties, below the root: a map. At the root it is a tool without arguments.
        if properties.is_empty() && !closed && !at.is_empty() {
            return Err(refused(from, "its members may have any name"));
        }
        let required: Vec<String> = keywords.names("required").into_iter().map(str::to_owned).collect();
        if required.iter().any(|name| properties.iter().all(|(known, _)| known != name)) {
            return Err(refused(from, "it requires a property that it does not describe"));
        }
        let mut done: Vec<(String, Schema)> = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            if name.is_empty() {
                return Err(refused(from, "a property has no name"));
            }
            self.properties += 1;
            self.text += name.chars().count();
            let at = format!("{at}/properties/{}", step(&name));
            let optional = !required.contains(&name);
            let schema = self.schema(schema, &at, level + 1)?;
            let schema = if optional { self.nullable(schema, at) } else { schema };
            done.push((name, schema));
        }
        let names: Vec<Json> = done.iter().map(|(name, _)| Json::text(name.as_str())).collect();
        keywords.put("properties", Keyword::Map(done));
        keywords.put_plain("required", Json::Array(names));
        keywords.put_plain("additionalProperties", Json::Bool(false));
        Ok(keywords)
    }

    /// The schema of a property that may be absent.
    fn nullable(&mut self, schema: Schema, at: String) -> Schema {
        let from = schema.at.clone();
        let mut keywords = schema.into_keywords();
        if keywords.has("$ref") {
            let null = Schema::of_type(&from, "null");
            let mut shown = Keywords::default();
            shown.put("anyOf", Keyword::List(vec![Schema::new(&from, keywords), null]));
            self.nulls.insert(at);
            return Schema::new(&from, shown);
        }
        let mut list = keywords.take_list("anyOf");
        if !list.is_empty() {
            if !list.iter().any(takes_null) {
                list.push(Schema::of_type(&from, "null"));
                self.nulls.insert(at);
            }
            keywords.put("anyOf", Keyword::List(list));
            return Schema::new(&from, keywords);
        }
        let types: Vec<String> =
            keywords.types().unwrap_or_default().into_iter().map(str::to_owned).collect();
        let listed = keywords.plain("enum").and_then(Json::as_array).map(<[Json]>::to_vec);
        let fits = types.iter().any(|name| name == "null")
            && listed.as_ref().is_none_or(|values| values.contains(&Json::Null));
        if !fits {
            let mut types: Vec<&str> =
                types.iter().map(String::as_str).filter(|name| *name != "null").collect();
            types.push("null");
            keywords.put_types(&types);
            if let Some(mut values) = listed.filter(|values| !values.contains(&Json::Null)) {
                values.push(Json::Null);
                keywords.put_plain("enum", Json::Array(values));
            }
            self.nulls.insert(at);
        }
        Schema::new(&from, keywords)
    }

    fn within_limits(&self) -> Result<(), Lost> {
        let limits = [
            (self.properties, MOST_PROPERTIES, "properties"),
            (self.values, MOST_VALUES, "values in lists"),
            (self.text, MOST_TEXT, "characters in names and values"),
        ];
        match limits.into_iter().find(|(count, most, _)| count > most) {
            Some((_, most, what)) => Err(refused("", format!("it has more than {most} {what}"))),
            None => Ok(()),
        }
    }
}

fn takes_null(schema: &Schema) -> bool {
    let Some(keywords) = schema.keywords() else { return false };
    let listed = keywords.plain("enum").and_then(Json::as_array);
    keywords.types().is_some_and(|types| types.contains(&"null"))
        && listed.is_none_or(|values| values.contains(&Json::Null))
}
