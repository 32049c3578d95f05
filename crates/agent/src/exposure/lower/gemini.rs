//! The last step for Gemini: its subset of OpenAPI 3.0, in which a schema has one type, `nullable` instead of the
//! type `null`, values of lists that are texts, and nothing beside `anyOf`.

use super::super::json::Json;
use super::super::lost::Losses;
use super::conjoin::conjoin;
use super::schema::{Keyword, Keywords, Schema};

/// Which type a keyword speaks of, where none is named.
const SPOKEN_OF: [(&str, &[&str]); 4] = [
    ("object", &["properties", "required", "additionalProperties", "minProperties", "maxProperties"]),
    ("array", &["items", "minItems", "maxItems"]),
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    ("number", &["minimum", "maximum"]),
];

/// What each type may have beside `type`, `description`, `nullable` and `default`.
const OF_TYPE: [(&str, &[&str]); 5] = [
    ("object", &["properties", "required", "minProperties", "maxProperties"]),
    ("array", &["items", "minItems", "maxItems"]),
    ("string", &["minLength", "maxLength", "pattern", "format", "enum"]),
    ("number", &["minimum", "maximum", "format"]),
    ("integer", &["minimum", "maximum", "format"]),
];

/// Values of a list that are named in words.
const NAMED_VALUES: usize = 12;

pub(super) struct Gemini<'a> {
    pub(super) losses: &'a mut Losses,
}

impl Gemini<'_> {
    /// The top level: an object.
    pub(super) fn root(&mut self, schema: Schema) -> Schema {
        let at = schema.at.clone();
        let mut keywords = self.one_type(&at, "object", schema.into_keywords(), false);
        if !keywords.has("properties") {
            keywords.put("properties", Keyword::Map(Vec::new()));
        }
        Schema::new(&at, keywords)
    }

    fn schema(&mut self, schema: Schema) -> Schema {
        let at = schema.at.clone();
        let mut keywords = schema.into_keywords();
        self.constant(&at, &mut keywords);
        let list = keywords.take_list("anyOf");
        if !list.is_empty() {
            return self.alternatives(&at, keywords, list);
        }
        let types = self.types(&at, &keywords);
        let nullable = types.iter().any(|name| name == "null");
        let named: Vec<&str> = types.iter().map(String::as_str).filter(|name| *name != "null").collect();
        match named.as_slice() {
            [] if nullable => Schema::new(&at, self.null(&keywords)),
            [] => self.anything(&at, &keywords),
            [one] => {
                let lowered = self.one_type(&at, one, keywords, nullable);
                Schema::new(&at, lowered)
            }
            several => {
                let mut list: Vec<Schema> = Vec::new();
                for name in several {
                    let mut one = keywords.clone();
                    // The words are said once.
                    if !list.is_empty() {
                        one.take("description");
                    }
                    let lowered = self.one_type(&at, name, one, nullable);
                    list.push(Schema::new(&at, lowered));
                }
                any_of(&at, list)
            }
        }
    }

    /// Nothing but null: a text that may be null, since there is no such type.
    fn null(&mut self, keywords: &Keywords) -> Keywords {
        let mut shown = Keywords::default();
        shown.put_types(&["string"]);
        if let Some(text) = keywords.plain("description") {
            shown.put_plain("description", text.clone());
        }
        shown.put_plain("nullable", Json::Bool(true));
        shown
    }

    /// Any value at all: one alternative a type.
    fn anything(&mut self, at: &str, keywords: &Keywords) -> Schema {
        self.losses.narrowed(at, "any value", "a list in it can only hold single values");
        let single = || ["string", "number", "boolean"].map(|name| nullable(at, name)).to_vec();
        let mut list = single();
        list.push(nullable(at, "object"));
        let mut array = nullable(at, "array").into_keywords();
        array.put("items", Keyword::Schema(Box::new(any_of(at, single()))));
        list.push(Schema::new(at, array));
        if let (Some(text), Some(first)) = (keywords.plain("description"), list.first_mut()) {
            let mut described = std::mem::replace(first, Schema::any(at)).into_keywords();
            described.put_plain("description", text.clone());
            *first = Schema::new(at, described);
        }
        any_of(at, list)
    }

    fn constant(&mut self, at: &str, keywords: &mut Keywords) {
        if let Some(value) = keywords.take_plain("const") {
            if keywords.has("enum") {
                self.losses.widened(at, "const", "there is an enum beside it");
            } else {
                keywords.put_plain("enum", Json::Array(vec![value]));
            }
        }
    }

    /// The types of the values, named or guessed from the other keywords.
    fn types(&mut self, at: &str, keywords: &Keywords) -> Vec<String> {
        let listed = keywords.plain("enum").and_then(Json::as_array).map(|values| {
            let mut types: Vec<String> = Vec::new();
            for value in values {
                if !types.iter().any(|known| known == value.type_name()) {
                    types.push(value.type_name().to_owned());
                }
            }
            types
        });
        let named = keywords.types().map(|types| types.into_iter().map(str::to_owned).collect::<Vec<_>>());
        match (named, listed) {
            (Some(named), Some(listed)) => {
                let fits = |name: &String| {
                    listed.contains(name)
                        || (name == "number" && listed.iter().any(|other| other == "integer"))
                };
                let both: Vec<String> = named.iter().filter(|name| fits(name)).cloned().collect();
                if both.is_empty() { named } else { both }
            }
            (Some(types), None) | (None, Some(types)) => types,
            (None, None) => {
                let spoken = SPOKEN_OF.iter().find(|(_, names)| names.iter().any(|name| keywords.has(name)));
                let Some((name, _)) = spoken else { return Vec::new() };
                self.losses.narrowed(at, "type", format!("it is not said and shown as {name}"));
                vec![(*name).to_owned()]
            }
        }
    }

    /// Alternatives. Nothing may stand beside them, so each takes what does.
    fn alternatives(&mut self, at: &str, mut beside: Keywords, list: Vec<Schema>) -> Schema {
        let described = beside.take_plain("description");
        let judged = beside.iter().any(|(name, _)| name != "default");
        let beside = Schema::new(at, beside);
        let nullable = list.iter().any(is_null);
        let mut lowered: Vec<Schema> = Vec::new();
        for schema in list.into_iter().filter(|schema| !is_null(schema)) {
            let mut joined = if judged { conjoin(schema, beside.clone(), self.losses) } else { schema };
            if let super::schema::Body::Keywords(keywords) = &mut joined.body {
                for part in keywords.take_list("allOf") {
                    for (name, _) in part.into_keywords().into_iter() {
                        self.losses.widened(at, name, "it is said twice in different words");
                    }
                }
                if let (Some(text), true) = (&described, lowered.is_empty())
                    && !keywords.has("description")
                {
                    keywords.put_plain("description", text.clone());
                }
            }
            let joined = self.schema(joined);
            // Alternatives within alternatives are alternatives.
            match joined.into_keywords() {
                mut keywords if keywords.has("anyOf") => lowered.append(&mut keywords.take_list("anyOf")),
                keywords => lowered.push(Schema::new(at, keywords)),
            }
        }
        if nullable {
            for schema in &mut lowered {
                if let super::schema::Body::Keywords(keywords) = &mut schema.body {
                    keywords.put_plain("nullable", Json::Bool(true));
                }
            }
        }
        match lowered.len() {
            0 => Schema::new(at, self.null(&Keywords::default())),
            1 => lowered.remove(0),
            _ => any_of(at, lowered),
        }
    }

    /// The keywords of one type.
    fn one_type(&mut self, at: &str, name: &str, mut keywords: Keywords, nullable: bool) -> Keywords {
        let mut shown = Keywords::default();
        shown.put_types(&[name]);
        let words = self.values(at, name, &mut keywords);
        if let Some(text) = described(keywords.text("description"), words) {
            shown.put_plain("description", text);
        }
        if nullable {
            shown.put_plain("nullable", Json::Bool(true));
        }
        let rest = keywords.take("additionalProperties");
        let open = rest.is_some_and(|rest| rest.to_json() != Json::Bool(false));
        if name == "object" && open {
            self.losses.widened(at, "additionalProperties", "further members cannot be described");
        }
        let of_type = OF_TYPE.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, names)| names);
        for (keyword, value) in keywords.into_iter() {
            match (keyword, value) {
                ("format", Keyword::Plain(value)) if !format_of(name, &value) => {}
                (_, Keyword::Plain(value)) if of_type.contains(&keyword) || keyword == "default" => {
                    shown.put_plain(keyword, value);
                }
                (_, Keyword::Schema(schema)) if of_type.contains(&keyword) => {
                    shown.put(keyword, Keyword::Schema(Box::new(self.schema(*schema))));
                }
                (_, Keyword::Map(map)) if of_type.contains(&keyword) => {
                    let map = map.into_iter().map(|(key, schema)| (key, self.schema(schema))).collect();
                    shown.put(keyword, Keyword::Map(map));
                }
                _ => {}
            }
        }
        self.known_required(at, &mut shown);
        if name == "array" && !shown.has("items") {
            let items = self.anything(at, &Keywords::default());
            shown.put("items", Keyword::Schema(Box::new(items)));
        }
        shown
    }

    /// Lists of values stay where they are lists of texts; others are told in words.
    fn values(&mut self, at: &str, name: &str, keywords: &mut Keywords) -> Option<String> {
        let values = keywords.take_plain("enum")?;
        let values = values.as_array().unwrap_or_default();
        let of_type: Vec<&Json> = values.iter().filter(|value| is_of(value, name)).collect();
        let texts = of_type.iter().all(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        if name == "string" && texts && !of_type.is_empty() {
            let kept: Vec<Json> = of_type.into_iter().cloned().collect();
            keywords.put_plain("enum", Json::Array(kept));
            // Only a list or a format may stand here.
            keywords.take("format");
            return None;
        }
        self.losses.widened(at, "enum", "only texts that are not empty can be listed");
        let mut words: Vec<String> = of_type
            .iter()
            .filter(|value| value.length(80) <= 80)
            .take(NAMED_VALUES)
            .map(ToString::to_string)
            .collect();
        if words.len() < of_type.len() {
            words.push("…".to_owned());
        }
        (!words.is_empty()).then(|| format!("One of: {}", words.join(", ")))
    }

    /// Only properties that are described can be required.
    fn known_required(&mut self, at: &str, keywords: &mut Keywords) {
        let required: Vec<String> = keywords.names("required").into_iter().map(str::to_owned).collect();
        let known = |name: &&str| keywords.map("properties").iter().any(|(known, _)| known == name);
        let kept: Vec<&str> = required.iter().map(String::as_str).filter(known).collect();
        if kept.len() < required.len() {
            self.losses.widened(at, "required", "it names a property that is not described");
        }
        keywords.put_names("required", &kept);
    }
}

fn any_of(at: &str, list: Vec<Schema>) -> Schema {
    let mut keywords = Keywords::default();
    keywords.put("anyOf", Keyword::List(list));
    Schema::new(at, keywords)
}

fn nullable(at: &str, name: &str) -> Schema {
    let mut keywords = Schema::of_type(at, name).into_keywords();
    keywords.put_plain("nullable", Json::Bool(true));
    Schema::new(at, keywords)
}

/// Whether a schema takes null and nothing else.
fn is_null(schema: &Schema) -> bool {
    let Some(keywords) = schema.keywords() else { return false };
    let only_null = |values: &[Json]| values.iter().all(|value| *value == Json::Null);
    keywords.types() == Some(vec!["null"])
        || keywords.plain("const") == Some(&Json::Null)
        || keywords.plain("enum").and_then(Json::as_array).is_some_and(only_null)
}

fn is_of(value: &Json, name: &str) -> bool {
    value.type_name() == name || (name == "number" && value.type_name() == "integer")
}

fn format_of(name: &str, format: &Json) -> bool {
    match format.as_str() {
        Some("date-time") => name == "string",
        Some("int32" | "int64") => name == "integer",
        Some("float" | "double") => name == "number",
        _ => false,
    }
}

fn described(text: Option<&str>, words: Option<String>) -> Option<Json> {
    match (text, words) {
        (None, None) => None,
        (Some(text), None) => Some(Json::text(text)),
        (None, Some(words)) => Some(Json::String(words)),
        (Some(text), Some(words)) => Some(Json::String(format!("{text}\n{words}"))),
    }
}
