//! What each dialect takes, as data.
//!
//! Sources, by name: OpenAI's guide "Structured Outputs: supported schemas" and its refusals ("must have type
//! 'object' and not have oneOf, anyOf, allOf, enum, not at the top level", "array schema missing items", "regex
//! lookaround is not supported", "is not a valid format", "string too long, maximum length 1024"); Anthropic's
//! documentation of custom tools (no references, no combinators at the top level, names of properties of 1 to 64
//! letters, digits, `_.-`; draft 2020-12); the Gemini API reference "Schema" (a subset of OpenAPI 3.0) and its
//! refusals ("enum only allowed for STRING type", "only 'enum' and 'date-time' are supported for STRING type",
//! "items: missing field", `required` without a property); llama.cpp's `grammars/README.md` and what its grammar
//! parser refuses (patterns, repetitions of 2000 and more), and the tool types of Ollama's API.

use switchboard_llm::SchemaDialect;

/// What a dialect takes.
pub(super) struct Rules {
    pub(super) dialect: SchemaDialect,
    /// Keywords that may stand anywhere but at the root.
    keywords: &'static [&'static [&'static str]],
    /// The values of `format` that are taken, if not all are.
    formats: Option<&'static [&'static str]>,
    pub(super) patterns: Patterns,
    /// Whether `prefixItems` is understood.
    pub(super) tuples: bool,
    /// The largest number of characters, items or members that a limit may name.
    pub(super) largest_count: u64,
    /// Whether names of properties must be plain.
    pub(super) plain_names: bool,
    /// Whether a definition may refer to itself.
    pub(super) references: bool,
    /// Characters of a tool's description.
    pub(super) description: usize,
}

/// Which regular expressions are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patterns {
    All,
    /// Those that every engine reads alike: no look-around, no references back, no classes of Unicode.
    Plain,
    None,
}

/// The longest list of values that is shown, in bytes.
pub(super) const LONGEST_ENUM: usize = 8 * 1024;

/// The longest description of anything but a tool, in characters.
pub(super) const LONGEST_DESCRIPTION: usize = 4 * 1024;

const BASE: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
    "anyOf",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "pattern",
    "format",
];
const JSON_SCHEMA: &[&str] =
    &["additionalProperties", "const", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const LENGTHS: &[&str] = &["minLength", "maxLength", "minProperties", "maxProperties"];
const ANNOTATIONS: &[&str] = &[
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentEncoding",
    "contentMediaType",
];
const COMBINATORS: &[&str] = &["oneOf", "allOf"];
const LOGIC: &[&str] = &[
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
];

const OPENAI_FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
const GEMINI_FORMATS: &[&str] = &["date-time", "int32", "int64", "float", "double"];

const OPENAI: Rules = Rules {
    dialect: SchemaDialect::OpenAi,
    keywords: &[BASE, JSON_SCHEMA, LENGTHS, ANNOTATIONS, COMBINATORS, LOGIC, &["$ref"]],
    formats: Some(OPENAI_FORMATS),
    patterns: Patterns::Plain,
    tuples: false,
    largest_count: u64::MAX,
    plain_names: false,
    references: true,
    description: 1024,
};

const OPENAI_STRICT: Rules =
    Rules { dialect: SchemaDialect::OpenAiStrict, keywords: &[BASE, JSON_SCHEMA, &["$ref"]], ..OPENAI };

const ANTHROPIC: Rules = Rules {
    dialect: SchemaDialect::Anthropic,
    keywords: &[BASE, JSON_SCHEMA, LENGTHS, ANNOTATIONS, COMBINATORS, LOGIC, &["prefixItems"]],
    formats: None,
    patterns: Patterns::All,
    tuples: true,
    largest_count: u64::MAX,
    plain_names: true,
    references: false,
    description: 10_000,
};

const GEMINI: Rules = Rules {
    dialect: SchemaDialect::Gemini,
    keywords: &[
        BASE,
        LENGTHS,
        &["default", "const", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum"],
    ],
    formats: Some(GEMINI_FORMATS),
    patterns: Patterns::Plain,
    tuples: false,
    largest_count: u64::MAX,
    plain_names: true,
    references: false,
    description: 10_000,
};

const GENERIC: Rules = Rules {
    dialect: SchemaDialect::Generic,
    keywords: &[BASE, JSON_SCHEMA, LENGTHS, ANNOTATIONS, COMBINATORS],
    formats: None,
    patterns: Patterns::None,
    tuples: false,
    largest_count: 1_000,
    plain_names: false,
    references: false,
    description: 4_096,
};

impl Rules {
    /// The rules of a dialect; those of an unknown one are the most careful.
    pub(super) fn of(dialect: SchemaDialect) -> &'static Self {
        match dialect {
            SchemaDialect::OpenAi => &OPENAI,
            SchemaDialect::OpenAiStrict => &OPENAI_STRICT,
            SchemaDialect::Anthropic => &ANTHROPIC,
            SchemaDialect::Gemini => &GEMINI,
            _ => &GENERIC,
        }
    }

    pub(super) fn takes(&self, keyword: &str) -> bool {
        self.keywords.iter().any(|group| group.contains(&keyword))
    }

    pub(super) fn takes_format(&self, format: &str) -> bool {
        self.formats.is_none_or(|known| known.contains(&format))
    }

    pub(super) fn takes_pattern(&self, pattern: &str) -> bool {
        match self.patterns {
            Patterns::All => true,
            Patterns::Plain => is_plain_pattern(pattern),
            Patterns::None => false,
        }
    }

    /// Whether a property may be called so.
    pub(super) fn takes_name(&self, name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        !self.plain_names || ((1..=64).contains(&name.len()) && name.bytes().all(plain))
    }
}

/// Whether all engines read a regular expression alike.
fn is_plain_pattern(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    let mut open: Vec<char> = Vec::new();
    let mut in_class = false;
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'b' | 'B' | 'n' | 'r' | 't' | 'f' | 'v') => {}
                Some(escaped) if escaped.is_ascii_punctuation() => {}
                _ => return false,
            },
            // A bracket in a class means a set of sets to some.
            '[' if in_class => return false,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => {
                let mut ahead = rest.clone();
                if ahead.next() == Some('?') {
                    if ahead.next() != Some(':') {
                        return false;
                    }
                    rest = ahead;
                }
                open.push('(');
            }
            ')' if open.pop().is_none() => return false,
            _ => {}
        }
    }
    !in_class && open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_plain_pattern;

    #[test]
    fn patterns_that_engines_read_differently_are_told_apart() {
        for plain in ["^[a-z_]+$", r"\d{4}-\d{2}", "(?:a|b)*", r"[\]\[]", "é+", r"\/"] {
            assert!(is_plain_pattern(plain), "{plain}");
        }
        for other in
            [r"^(?=.*@).+$", r"(?<!a)b", r"\p{L}", r"(a)\1", r"(?<name>a)", "[[:alpha:]]", "(", "[", r"\"]
        {
            assert!(!is_plain_pattern(other), "{other}");
        }
    }
}
