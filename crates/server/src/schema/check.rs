//! The schema of arguments or of a result, as it is enforced.
//!
//! The type enforces most schemas, by decoding into it or by being what is written. Where the schema says
//! more, the compiled validator runs as well; where decoding fails, it says why.

use serde_json::Value;

#[cfg(feature = "validate")]
use std::sync::OnceLock;

#[cfg(feature = "validate")]
use switchboard_schema::{SchemaLimits, Validator};

/// Violations named in one answer.
#[cfg(feature = "validate")]
const NAMED: usize = 8;

/// Which of the two schemas of a tool.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Input,
    Output,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// A schema that values are held against.
#[derive(Debug)]
pub(crate) struct EnforcedSchema {
    #[cfg_attr(not(feature = "validate"), expect(dead_code, reason = "only the validator reads it"))]
    schema: Value,
    /// Whether the type enforces all of it.
    covered: bool,
    #[cfg(feature = "validate")]
    validator: OnceLock<Option<Validator>>,
}

impl EnforcedSchema {
    /// A schema that was generated from the type of the arguments or of the result.
    pub(crate) fn generated(side: Side, schema: Value) -> Result<Self, String> {
        #[cfg(feature = "validate")]
        let covered = match side {
            Side::Input => switchboard_schema::is_covered_by_type(&schema),
            Side::Output => switchboard_schema::is_covered_when_encoded(&schema),
        };
        #[cfg(not(feature = "validate"))]
        let covered = !asserts(&schema);
        Self::of(side, schema, covered)
    }

    /// A schema that the author wrote: nothing but the validator enforces it.
    pub(crate) fn written(side: Side, schema: Value) -> Result<Self, String> {
        Self::of(side, schema, false)
    }

    #[cfg(feature = "validate")]
    fn of(side: Side, schema: Value, covered: bool) -> Result<Self, String> {
        let validator = OnceLock::new();
        if !covered {
            let compiled = Validator::compile(&schema, &SchemaLimits::default())
                .map_err(|error| format!("its {} schema cannot be used: {error}", side.name()))?;
            let _ = validator.set(Some(compiled));
        }
        Ok(Self { schema, covered, validator })
    }

    #[cfg(not(feature = "validate"))]
    fn of(side: Side, schema: Value, covered: bool) -> Result<Self, String> {
        if covered {
            return Ok(Self { schema, covered });
        }
        Err(format!(
            "its {} schema says more than its type enforces; turn on the feature `validate` of \
             switchboard-server",
            side.name()
        ))
    }

    /// Whether there is more to check than the type does.
    pub(crate) fn says_more(&self) -> bool {
        !self.covered
    }

    /// What the schema has against this value that the type would not find.
    pub(crate) fn check(&self, text: &[u8]) -> Option<String> {
        if self.covered { None } else { self.explain(text) }
    }

    /// What the schema has against this value.
    #[cfg(feature = "validate")]
    pub(crate) fn explain(&self, text: &[u8]) -> Option<String> {
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => return Some(format!("(root): {error}")),
        };
        let validator = self
            .validator
            .get_or_init(|| Validator::compile(&self.schema, &SchemaLimits::default()).ok())
            .as_ref()?;
        let violations = validator.validate(&value).err()?;
        let mut lines: Vec<String> = violations.iter().take(NAMED).map(ToString::to_string).collect();
        if violations.len() > NAMED {
            lines.push(format!("and {} more", violations.len() - NAMED));
        }
        Some(lines.join("\n"))
    }

    #[cfg(not(feature = "validate"))]
    pub(crate) fn explain(&self, _text: &[u8]) -> Option<String> {
        None
    }
}

/// Whether a generated schema has a keyword that no Rust type enforces: such come from attributes.
#[cfg(not(feature = "validate"))]
fn asserts(schema: &Value) -> bool {
    const SAYS_MORE: [&str; 13] = [
        "pattern",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "multipleOf",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "contains",
        "not",
    ];
    match schema {
        Value::Object(members) => members.iter().any(|(keyword, value)| {
            (SAYS_MORE.contains(&keyword.as_str()) && !value.is_object()) || asserts(value)
        }),
        Value::Array(items) => items.iter().any(asserts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
