//! The compiled form of a schema: compile once, check many values.
//!
//! Wraps the `jsonschema` crate with its network access cut off. Whether a value fits is always decided
//! in full; how much is said about a value that does not fit is bounded. Where to look next:
//! `violation.rs` for the words.

use jsonschema::{PatternOptions, ValidationError, error::ValidationErrorKind};
use serde_json::Value;

use crate::dialect;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use crate::shape::Shape;
use crate::violation::{self, Violation};

/// A compiled schema. Immutable; share it in an `Arc`.
pub struct Validator {
    compiled: jsonschema::Validator,
    /// Kept to name the properties that are allowed where an unknown one was given.
    schema: Value,
    shape: Shape,
    violations: usize,
    steps: u64,
    explain_steps: u64,
}

/// Evaluations a member of a value that are always affordable.
const STEPS_A_MEMBER: u64 = 64;

/// What an affordable value may cost further.
struct Cost {
    /// Evaluations for naming all that is wrong with it.
    explain: u64,
}

impl std::fmt::Debug for Validator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Validator").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Validator {
    /// Compiles `schema` by the dialect it declares, or by 2020-12 [spec: basic, JSON Schema Usage].
    ///
    /// Nothing is read from files or the network: a reference that leaves the document is an error
    /// [spec: basic, `$ref` Resolution].
    ///
    /// # Errors
    ///
    /// An unsupported dialect, an external reference, a schema beyond `limits`, or one that is invalid
    /// in its own dialect.
    pub fn compile(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err(SchemaError::invalid("it is neither an object nor a boolean"));
        }
        let (draft, spelling) = dialect::detect(schema)?;
        let shape = Shape::measure(schema, limits)?;
        let schema = with_spelling(schema, spelling);
        // Patterns without look-around run on the linear engine in any case. Look-around cannot be
        // refused: the most used schema generators emit it for e-mail addresses. So it is bounded.
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(limits.pattern_backtracks)
            .size_limit(limits.pattern_bytes)
            .dfa_size_limit(limits.pattern_bytes);
        let compiled = jsonschema::options()
            .offline()
            .with_draft(draft)
            .with_pattern_options(patterns)
            .build(&schema)
            .map_err(|error| refuse(&error))?;
        Ok(Self {
            compiled,
            schema,
            shape,
            violations: limits.violations.max(1),
            steps: limits.steps,
            explain_steps: limits.explain_steps,
        })
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// At least one and at most [`SchemaLimits::violations`] findings, in the order of the value.
    pub fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        let cost = self.afford(value).map_err(|refusal| vec![refusal])?;
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if cost.explain > self.explain_steps {
            return Err(vec![Violation::unexplained()]);
        }
        let mut found = Vec::new();
        for error in self.compiled.iter_errors(value) {
            violation::explain(&error, &self.schema, (&mut found, self.violations));
            if found.len() >= self.violations {
                break;
            }
        }
        if found.is_empty() {
            found.push(Violation::unexplained());
        }
        Err(found)
    }

    /// Whether a value fits, without saying why not.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        self.afford(value).is_ok() && self.compiled.is_valid(value)
    }

    /// What checking `value` may cost, unless that is more than the limits allow.
    fn afford(&self, value: &Value) -> Result<Cost, Violation> {
        let (mut members, mut decide, mut explain) = (0u64, 0u64, 0u64);
        let mut open = vec![(value, 0usize)];
        while let Some((value, depth)) = open.pop() {
            if depth > self.shape.instance_depth {
                return Err(Violation::too_deep(self.shape.instance_depth));
            }
            members += 1;
            decide = decide.saturating_add(self.shape.decide.at(depth));
            explain = explain.saturating_add(self.shape.explain.at(depth));
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(members) => {
                    open.extend(members.values().map(|member| (member, depth + 1)));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        if decide > self.steps.saturating_add(members.saturating_mul(STEPS_A_MEMBER)) {
            return Err(Violation::too_costly());
        }
        Ok(Cost { explain })
    }
}

/// The schema with `$schema` as the library spells it, so that it looks for nothing.
fn with_spelling(schema: &Value, spelling: &str) -> Value {
    let mut schema = schema.clone();
    if let Some(declared) = schema.get_mut("$schema") {
        *declared = Value::String(spelling.to_owned());
    }
    schema
}

/// Maps what the library refuses to our own words.
fn refuse(error: &ValidationError<'_>) -> SchemaError {
    match error.kind() {
        ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable { uri, .. }) => {
            SchemaError::external_ref(uri)
        }
        ValidationErrorKind::Referencing(jsonschema::ReferencingError::UnknownSpecification {
            specification,
        }) => SchemaError::unsupported_dialect(specification),
        _ => {
            let path = error.instance_path().to_string();
            let at = if path.is_empty() { "at its root" } else { &path };
            SchemaError::invalid(&format!("{at}: {}", error.masked()))
        }
    }
}
