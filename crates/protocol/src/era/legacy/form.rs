//! Forms as an older revision has them, and back. A field keeps what its answer depends on; what only helps
//! to fill it in is left out where the revision has no place for it.

use super::{Features, question::Inexpressible};
use crate::model::elicitation::{ElicitSchema, Fields, Options, PrimitiveSchema, TitledOption};

/// What every revision with forms allows as a format.
const FORMATS: [&str; 4] = ["email", "uri", "date", "date-time"];

/// The form as this revision has it.
pub(super) fn lower(schema: &ElicitSchema, features: &Features) -> Result<ElicitSchema, Inexpressible> {
    let mut lowered = schema.clone();
    if !features.rich_forms {
        lowered.schema = None;
    }
    for (name, field) in &mut lowered.properties.0 {
        lower_field(name, field, features)?;
    }
    Ok(lowered)
}

fn lower_field(name: &str, field: &mut PrimitiveSchema, features: &Features) -> Result<(), Inexpressible> {
    if let PrimitiveSchema::String { format, .. } = field {
        *format = format.take().filter(|format| FORMATS.contains(&format.as_str()));
    }
    if features.rich_forms {
        return Ok(());
    }
    match field {
        PrimitiveSchema::String { default, .. } => *default = None,
        PrimitiveSchema::Number { default, .. } => *default = None,
        // The one kind of field that had a default from the beginning.
        PrimitiveSchema::Boolean { .. } => {}
        PrimitiveSchema::Choice { options, default, .. } => {
            *default = None;
            if let Options::Titled(titled) = options {
                let (values, names) = titled.drain(..).map(|option| (option.r#const, option.title)).unzip();
                *options = Options::Named(values, names);
            }
        }
        PrimitiveSchema::MultiChoice { .. } => {
            return Err(Inexpressible::new(
                features.revision,
                format!("a form cannot ask for several choices, as its field {name:?} does"),
            ));
        }
    }
    Ok(())
}

/// The form in the modern shape: names beside an enum become titles. A value without a name is its own.
pub(super) fn raise(schema: &mut ElicitSchema) {
    let Fields(fields) = &mut schema.properties;
    for (_, field) in fields {
        if let PrimitiveSchema::Choice { options, .. } = field
            && let Options::Named(values, names) = options
        {
            let mut names = names.drain(..);
            let titled = values.drain(..).map(|value| {
                let title = names.next().unwrap_or_else(|| value.clone());
                TitledOption { r#const: value, title }
            });
            let titled = titled.collect();
            drop(names);
            *options = Options::Titled(titled);
        }
    }
}
