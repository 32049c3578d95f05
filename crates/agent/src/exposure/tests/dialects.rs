//! What each dialect takes, written down a second time and as data: the compiler is held against this, not against
//! its own tables.

use serde_json::{Map, Value};
use switchboard_llm::{SchemaDialect, ToolDefinition};
use switchboard_schema::{SchemaLimits, Validator};

/// What a request with a tool is refused for.
struct Dialect {
    keywords: &'static [&'static str],
    /// Keywords that may not stand at the top level.
    not_at_root: &'static [&'static str],
    formats: Option<&'static [&'static str]>,
    plain_names: bool,
    /// Characters that a tool's description may have.
    description: usize,
    largest_count: u64,
    look_around: bool,
    patterns: bool,
}

const COMMON: &[&str] = &[
    "type",
    "description",
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "propertyNames",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "contentEncoding",
    "contentMediaType",
    "$ref",
    "$defs",
    "prefixItems",
];
const LOCAL: &[&str] = &[
    "type",
    "description",
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "format",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "contentEncoding",
    "contentMediaType",
];
const STRICT: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "anyOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "$ref",
    "$defs",
];
const OPEN_API: &[&str] = &[
    "type",
    "description",
    "nullable",
    "properties",
    "required",
    "items",
    "enum",
    "anyOf",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "default",
];
const ROOT: &[&str] = &[
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "enum",
    "const",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependentRequired",
    "$ref",
];
const OPENAI_FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

fn dialect(name: SchemaDialect, strict: bool) -> Dialect {
    let openai = Dialect {
        keywords: COMMON,
        not_at_root: ROOT,
        formats: Some(OPENAI_FORMATS),
        plain_names: false,
        description: 1024,
        largest_count: u64::MAX,
        look_around: false,
        patterns: true,
    };
    match name {
        SchemaDialect::OpenAi => openai,
        SchemaDialect::OpenAiStrict if strict => Dialect { keywords: STRICT, ..openai },
        SchemaDialect::OpenAiStrict => openai,
        SchemaDialect::Anthropic => {
            Dialect { formats: None, plain_names: true, look_around: true, description: 10_000, ..openai }
        }
        SchemaDialect::Gemini => Dialect {
            keywords: OPEN_API,
            formats: Some(&["date-time", "int32", "int64", "float", "double"]),
            plain_names: true,
            description: 10_000,
            ..openai
        },
        _ => Dialect {
            keywords: LOCAL,
            formats: None,
            description: 4_096,
            largest_count: 1_000,
            patterns: false,
            ..openai
        },
    }
}

struct Check<'a> {
    name: SchemaDialect,
    strict: bool,
    rules: Dialect,
    root: &'a Value,
    breaches: Vec<String>,
    properties: usize,
    values: usize,
}

/// Everything that the provider would refuse the request for.
pub(super) fn breaches(name: SchemaDialect, definition: &ToolDefinition) -> Vec<String> {
    let schema: Value = serde_json::from_str(definition.parameters.get()).unwrap();
    let rules = dialect(name, definition.strict);
    let mut check = Check {
        name,
        strict: definition.strict,
        rules,
        root: &schema,
        breaches: vec![],
        properties: 0,
        values: 0,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let tool = &definition.name;
    if tool.is_empty() || tool.len() > 64 || !tool.bytes().all(plain) {
        check.breach("", &format!("name {tool}"));
    }
    if definition.description.chars().count() > check.rules.description {
        check.breach("", "description too long");
    }
    if schema["type"] != "object" || !schema["properties"].is_object() {
        check.breach("", "no object with properties");
    }
    for keyword in check.rules.not_at_root {
        if schema.get(keyword).is_some() {
            check.breach("", &format!("{keyword} at the root"));
        }
    }
    check.schema(&schema, "", 1);
    if check.strict && (check.properties > 5_000 || check.values > 1_000) {
        check.breach("", "too many properties or values");
    }
    if name != SchemaDialect::Gemini
        && let Err(error) = Validator::compile(&schema, &SchemaLimits::default())
    {
        check.breach("", &error.to_string());
    }
    check.breaches
}

impl Check<'_> {
    fn breach(&mut self, at: &str, what: &str) {
        self.breaches.push(format!("{}: {at}: {what}", self.name));
    }

    fn schema(&mut self, schema: &Value, at: &str, level: usize) {
        let Value::Object(keywords) = schema else {
            return self.breach(at, "no object");
        };
        let takes_references = matches!(self.name, SchemaDialect::OpenAi | SchemaDialect::OpenAiStrict);
        for (keyword, value) in keywords {
            let at = format!("{at}/{keyword}");
            if !self.rules.keywords.contains(&keyword.as_str())
                || (keyword.starts_with('$') && !takes_references)
                || (keyword == "$defs" && level > 1)
            {
                self.breach(&at, "unknown");
            }
            self.keyword(keyword, value, (&at, level));
        }
        self.types(keywords, at);
        self.names(keywords, at);
        match self.name {
            SchemaDialect::OpenAiStrict if self.strict => self.strictly(keywords, (at, level)),
            SchemaDialect::Gemini => self.open_api(keywords, at),
            _ => {}
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, (at, level): (&str, usize)) {
        match (keyword, value) {
            ("properties" | "$defs" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                let deeper = if keyword == "$defs" { 0 } else { 1 };
                for (name, schema) in map {
                    self.properties += 1;
                    self.schema(schema, &format!("{at}/{name}"), level + deeper.max(usize::from(level == 1)));
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) if !list.is_empty() => {
                for (index, schema) in list.iter().enumerate() {
                    self.schema(schema, &format!("{at}/{index}"), level.max(2));
                }
            }
            ("additionalProperties", Value::Bool(_)) => {}
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                _,
            ) => {
                self.schema(value, at, level + 1);
            }
            ("format", Value::String(format))
                if self.rules.formats.is_some_and(|known| !known.contains(&format.as_str())) =>
            {
                self.breach(at, format);
            }
            ("pattern", Value::String(pattern)) => {
                let looks = ["(?=", "(?!", "(?<", r"\p", r"\1"].iter().any(|part| pattern.contains(part));
                if !self.rules.patterns || (looks && !self.rules.look_around) {
                    self.breach(at, pattern);
                }
            }
            ("description" | "title", Value::String(text)) if text.is_empty() => self.breach(at, "empty"),
            ("description" | "title" | "$ref" | "contentEncoding" | "contentMediaType", Value::String(_)) => {
            }
            ("enum", Value::Array(values)) if !values.is_empty() => self.values += values.len(),
            ("minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties", _)
                if value.as_u64().is_none_or(|count| count > self.rules.largest_count) =>
            {
                self.breach(at, "count");
            }
            ("required", Value::Array(names)) if names.iter().all(Value::is_string) => {}
            (
                "properties" | "anyOf" | "oneOf" | "allOf" | "description" | "title" | "enum" | "required",
                _,
            ) => {
                self.breach(at, "malformed");
            }
            _ => {}
        }
    }

    fn types(&mut self, keywords: &Map<String, Value>, at: &str) {
        let known = ["object", "array", "string", "number", "integer", "boolean", "null"];
        let names: Vec<&str> = match keywords.get("type") {
            None => vec![],
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            Some(_) => vec!["?"],
        };
        if names.iter().any(|name| !known.contains(name)) {
            self.breach(at, "type");
        }
        if names.contains(&"array")
            && !keywords.contains_key("items")
            && !keywords.contains_key("prefixItems")
        {
            self.breach(at, "array schema missing items");
        }
        if let Some(Value::String(reference)) = keywords.get("$ref")
            && self.root.pointer(reference.trim_start_matches('#')).is_none()
        {
            self.breach(at, "dangling reference");
        }
    }

    fn names(&mut self, keywords: &Map<String, Value>, at: &str) {
        let plain = |name: &str| {
            (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        let properties = keywords.get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flat_map(Map::keys) {
            if self.rules.plain_names && !plain(name) {
                self.breach(at, &format!("property {name:?}"));
            }
        }
    }

    fn strictly(&mut self, keywords: &Map<String, Value>, (at, level): (&str, usize)) {
        if level > 10 + 1 {
            self.breach(at, "more than 10 levels");
        }
        if keywords.contains_key("$ref") {
            if keywords.len() > 1 {
                self.breach(at, "something beside $ref");
            }
            return;
        }
        if keywords.contains_key("anyOf") {
            return;
        }
        let types = keywords.get("type").cloned().unwrap_or_default();
        if types.is_null() {
            self.breach(at, "schema must have a 'type' key");
        }
        if types == "object" || types.as_array().is_some_and(|types| types.contains(&Value::from("object"))) {
            let names: Vec<&String> = keywords["properties"].as_object().unwrap().keys().collect();
            let required: Vec<&str> =
                keywords["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            if keywords.get("additionalProperties") != Some(&Value::Bool(false)) {
                self.breach(at, "open");
            }
            if names.len() != required.len() || names.iter().any(|name| !required.contains(&name.as_str())) {
                self.breach(at, "not all required");
            }
        }
    }

    fn open_api(&mut self, keywords: &Map<String, Value>, at: &str) {
        if keywords.contains_key("anyOf") {
            if keywords.len() > 1 {
                self.breach(at, "something beside anyOf");
            }
            return;
        }
        let Some(Value::String(name)) = keywords.get("type") else {
            return self.breach(at, "no single type");
        };
        if name == "null" {
            self.breach(at, "null is no type");
        }
        if let Some(values) = keywords.get("enum").and_then(Value::as_array)
            && (name != "string" || values.iter().any(|value| value.as_str().is_none_or(str::is_empty)))
        {
            self.breach(at, "enum of something else than texts");
        }
        if name == "string"
            && keywords
                .get("format")
                .is_some_and(|format| format != "date-time" || keywords.contains_key("enum"))
        {
            self.breach(at, "format");
        }
        let empty = Map::new();
        let properties = keywords.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        for required in keywords.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !properties.contains_key(required.as_str().unwrap_or_default()) {
                self.breach(at, "required property is not defined");
            }
        }
    }
}
