//! What a schema says of single values, lowered: types, constants, texts and limits.

use switchboard_llm::SchemaDialect;

use super::super::super::json::Json;
use super::super::rules::LONGEST_ENUM;
use super::super::schema::{Keyword, Keywords, Schema};
use super::{Adapter, Unsaid};

/// Limits that count something.
const COUNTS: [&str; 6] =
    ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/// Values of a long list that are named in words.
const NAMED_VALUES: usize = 8;

impl Adapter<'_> {
    pub(super) fn settle_values(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        self.settle_enum(at, keywords, unsaid);
        self.settle_texts(at, keywords, unsaid);
        for name in COUNTS {
            let large = keywords.plain(name).and_then(Json::as_u64);
            if let Some(count) = large.filter(|count| *count > self.rules.largest_count) {
                keywords.take(name);
                self.losses.widened(at, name, "the provider takes no limit this large");
                unsaid.add(name, Json::Number(count.into()));
            }
        }
        let is_array = keywords.types().is_some_and(|types| types.contains(&"array"));
        // Some refuse an array without `items`, whatever else is said of it.
        if is_array && !keywords.has("items") && !keywords.has("prefixItems") {
            keywords.put("items", Keyword::Schema(Box::new(Schema::any(at))));
        }
    }

    /// A list of values that would fill the window is named in words.
    fn settle_enum(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        let Some(values) = keywords.plain("enum") else { return };
        if values.length(LONGEST_ENUM) <= LONGEST_ENUM {
            return;
        }
        let values = values.as_array().unwrap_or_default().to_vec();
        keywords.take("enum");
        let why = format!("its {} values are too many to be shown", values.len());
        self.losses.widened(at, "enum", why);
        let short = values.iter().filter(|value| value.length(40) <= 24).take(NAMED_VALUES).cloned();
        let mut named: Vec<Json> = short.collect();
        named.push(Json::text(format!("… {} values in all", values.len())));
        unsaid.add("enum", Json::Array(named));
        if !keywords.has("type") {
            let mut types: Vec<&'static str> = Vec::new();
            for value in &values {
                if !types.contains(&value.type_name()) {
                    types.push(value.type_name());
                }
            }
            keywords.put_types(&types);
        }
    }

    fn settle_texts(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        if let Some(pattern) = keywords.text("pattern").map(str::to_owned)
            && !self.rules.takes_pattern(&pattern)
        {
            keywords.take("pattern");
            self.losses.widened(at, "pattern", "the provider does not take this regular expression");
            unsaid.add("pattern", Json::String(pattern));
        }
        if let Some(format) = keywords.text("format").map(str::to_owned)
            && !self.rules.takes_format(&format)
        {
            keywords.take("format");
            self.losses.widened(at, "format", "the provider does not know it");
            unsaid.add("format", Json::String(format));
        }
        // Gemini's subset has no exclusive limits, but for whole numbers they are others one further.
        if self.rules.dialect == SchemaDialect::Gemini {
            self.include(at, keywords, unsaid);
        }
    }

    /// Exclusive limits as inclusive ones, which take the limit itself, too.
    fn include(&mut self, at: &str, keywords: &mut Keywords, unsaid: &mut Unsaid) {
        for (exclusive, inclusive) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some(limit) = keywords.take_plain(exclusive) else { continue };
            self.losses.widened(at, exclusive, "it is shown as a limit that may be reached");
            unsaid.add(exclusive, limit.clone());
            if !keywords.has(inclusive) {
                let name = if inclusive == "minimum" { "minimum" } else { "maximum" };
                keywords.put_plain(name, limit);
            }
        }
    }
}
