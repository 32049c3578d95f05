//! Which rules a schema is read by.
//!
//! `$schema` is only ever compared, never fetched. `http` and `https` forms and a trailing `#` are the
//! same dialect: published tools use all of them.

use jsonschema::Draft;
use serde_json::Value;

use crate::error::SchemaError;

/// The dialects that [`Validator::compile`](crate::Validator::compile) knows, by the value of
/// `$schema`; a schema without `$schema` is 2020-12 [spec: basic, Schema Dialect].
pub const SUPPORTED_DIALECTS: [&str; 5] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
];

const DRAFTS: [Draft; 5] =
    [Draft::Draft202012, Draft::Draft201909, Draft::Draft7, Draft::Draft6, Draft::Draft4];

/// The dialect of a schema and the spelling of `$schema` that the validator library expects.
pub(crate) fn detect(schema: &Value) -> Result<(Draft, &'static str), SchemaError> {
    let declared = match schema.get("$schema") {
        None => return Ok((DRAFTS[0], SUPPORTED_DIALECTS[0])),
        Some(Value::String(declared)) => declared,
        Some(_) => return Err(SchemaError::invalid("$schema is not a string")),
    };
    SUPPORTED_DIALECTS
        .iter()
        .zip(DRAFTS)
        .find(|(known, _)| bare(known) == bare(declared))
        .map(|(known, draft)| (draft, *known))
        .ok_or_else(|| SchemaError::unsupported_dialect(declared))
}

/// Whether a reference names one of the meta-schemas that the validator library carries with it.
pub(crate) fn is_bundled(reference: &str) -> bool {
    let document = reference.split('#').next().unwrap_or_default();
    SUPPORTED_DIALECTS.iter().any(|known| bare(known) == bare(document))
}

/// The dialect without what its spellings differ in.
fn bare(uri: &str) -> &str {
    let uri = uri.strip_suffix('#').unwrap_or(uri);
    uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://")).unwrap_or(uri)
}
