//! Compiled JSON Schema validators for tool input and output schemas.
//!
//! A schema comes from somebody else: a tool author, or a server on the network. This crate turns it
//! into a [`Validator`] without ever reading a file or opening a connection, refuses what would cost
//! too much to compile or to check ([`SchemaLimits`]), and reports a value that does not fit as
//! [`Violation`]s that a person or a model can act on.
//!
//! It does not generate schemas, and it does not rewrite them for a model provider.
//!
//! Supported dialects: 2020-12 (also the default), 2019-09, draft-07, draft-06 and draft-04, chosen by
//! `$schema` [spec: basic, JSON Schema Usage]. Where to look next: `validator.rs` compiles and checks,
//! `shape.rs` measures a schema before it is compiled, `violation.rs` words the findings, `covered.rs`
//! says when a Rust type makes the validator superfluous.
//!
//! ```
//! use serde_json::json;
//! use switchboard_schema::{SchemaLimits, Validator};
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": { "units": { "enum": ["metric", "imperial", "kelvin"] } }
//! });
//! let validator = Validator::compile(&schema, &SchemaLimits::default())?;
//! assert!(validator.validate(&json!({ "units": "metric" })).is_ok());
//!
//! let violations = validator.validate(&json!({ "units": "x" })).unwrap_err();
//! assert_eq!(violations[0].to_string(), r#"/units: expected one of metric, imperial, kelvin; got "x""#);
//! # Ok::<(), switchboard_schema::SchemaError>(())
//! ```

mod covered;
mod dialect;
mod error;
mod limits;
mod shape;
mod validator;
mod violation;

pub use covered::{is_covered_by_type, is_covered_when_encoded};
pub use dialect::SUPPORTED_DIALECTS;
pub use error::SchemaError;
pub use limits::SchemaLimits;
pub use validator::Validator;
pub use violation::Violation;
