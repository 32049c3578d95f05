//! What a handler needs, collected from its parameters and its output when it is registered.
//!
//! `build()` turns what does not fit into problems, all at once, and derives schemas and capabilities
//! from the rest; nothing of it is declared twice.

use std::any::{TypeId, type_name};

use schemars::JsonSchema;

use crate::schema::{self, Arguments, Output};

/// What a handler needs.
#[derive(Debug, Default)]
pub struct Needs {
    pub(crate) arguments: Option<Arguments>,
    pub(crate) output: Option<Output>,
    pub(crate) variables: Option<&'static str>,
    pub(crate) principals: Vec<(TypeId, &'static str)>,
    pub(crate) rounds: bool,
    pub(crate) elicited: Vec<String>,
    pub(crate) context: bool,
    pub(crate) problems: Vec<String>,
}

impl Needs {
    /// The arguments, of this type.
    pub fn arguments<T: JsonSchema>(&mut self) {
        if self.arguments.is_some() {
            self.problem("it takes its arguments twice; take them once, as one struct");
        }
        self.arguments = Some(schema::arguments::<T>());
    }

    /// The variables of a URI template, decoded into the type with this name.
    pub fn variables(&mut self, type_name: &'static str) {
        self.variables = Some(type_name);
    }

    /// An authenticated principal of this type.
    pub fn principal<P: 'static>(&mut self) {
        self.principals.push((TypeId::of::<P>(), type_name::<P>()));
    }

    /// Input rounds: the handler may ask the person, the client's model, or for roots.
    pub fn rounds(&mut self) {
        self.rounds = true;
    }

    /// A question that is asked before the handler is entered, by its key.
    pub fn elicited(&mut self, key: impl Into<String>) {
        self.elicited.push(key.into());
    }

    /// The context of the exchange: the handler may report progress and log.
    pub fn context(&mut self) {
        self.context = true;
    }

    /// Structured output of this type.
    pub fn output<T: JsonSchema>(&mut self) {
        self.output = Some(schema::output::<T>());
    }

    /// Something that is wrong with the handler; `build()` reports it.
    pub fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }
}
