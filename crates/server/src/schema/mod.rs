//! Schemas of arguments and outputs: generated from types, published in one profile, enforced where they
//! say more than the type.
//!
//! `profile.rs` is what is published, `check.rs` what is enforced, `form.rs` the flat schemas of
//! elicitation. The compiled validator itself is the `schema` crate's.

mod check;
mod form;
mod profile;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

pub(crate) use check::{EnforcedSchema, Side};
pub(crate) use form::{Form, form_of};

/// The schema of an argument type.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    /// As it was generated: what is enforced.
    pub(crate) strict: Value,
    /// As it is shown to clients.
    pub(crate) published: Map<String, Value>,
}

/// The schema of an output type.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// As it was generated: what is enforced.
    pub(crate) strict: Value,
    /// As it is shown to clients.
    pub(crate) published: Value,
}

/// The arguments of a handler that takes none. `properties` is there because some model providers refuse
/// an object schema without it.
pub(crate) fn no_arguments() -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), json!({}));
    schema
}

/// The schema of an argument type, for decoding.
pub(crate) fn arguments<T: JsonSchema>() -> Arguments {
    let strict = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let published = profile::input(&strict, &T::schema_name());
    Arguments { strict, published }
}

/// The schema of an output type, for encoding.
pub(crate) fn output<T: JsonSchema>() -> Output {
    let strict = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let published = profile::output(&strict, &T::schema_name());
    Output { strict, published }
}
