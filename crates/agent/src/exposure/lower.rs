//! Lowers the schema of a tool's arguments to the dialect of a model provider.
//!
//! A schema comes from somebody else and may use all of JSON Schema; each provider takes another part of it and
//! refuses the whole request otherwise. What is lowered takes at least what the original takes, wherever that can
//! be said; every exception is a [`Lost`] that narrows. The original validates the arguments in any case.
//!
//! The way of a schema: `source` finds where references lead, `read` makes one tree without references and
//! without the spellings of older drafts, `adapt` and `root` take out what the dialect (`rules`) does not know,
//! `strict` and `gemini` do what only these need. `conjoin` joins two schemas, `schema` is the tree between.

mod adapt;
mod conjoin;
mod gemini;
mod read;
mod root;
mod rules;
mod schema;
mod source;
mod strict;
mod text;

use std::collections::HashSet;

use serde_json::value::RawValue;
use switchboard_llm::SchemaDialect;

use self::adapt::Adapter;
use self::gemini::Gemini;
use self::rules::Rules;
use self::schema::{Keyword, Schema};
use self::source::Source;
use super::json::Json;
use super::lost::{Losses, Lost};

/// The largest schema that is offered, in bytes. A whole window is a few times as large.
const LARGEST: usize = 128 * 1024;

/// What a model gets of a tool, but for its name.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) description: String,
    pub(super) parameters: Box<RawValue>,
    pub(super) lost: Vec<Lost>,
    /// Whether the provider may be asked to hold the model to the schema.
    pub(super) strict: bool,
    /// Places in `parameters` where `null` stands for what is absent.
    pub(super) nulls: HashSet<String>,
}

/// Lowers one tool, or says why that is impossible. `longest` bounds the description, in characters.
pub(super) fn lower(
    (schema, description): (&RawValue, &str),
    dialect: SchemaDialect,
    longest: Option<usize>,
) -> Result<Lowered, String> {
    let root: Json = serde_json::from_str(schema.get()).map_err(|error| error.to_string())?;
    let source = Source::new(&root, schema.get());
    if dialect != SchemaDialect::OpenAiStrict {
        return Form::of(&source, dialect)?.finished(description, longest);
    }
    let mut form = Form::of(&source, dialect)?;
    match form.strict() {
        Ok(nulls) => {
            let lowered = form.finished(description, longest)?;
            Ok(Lowered { strict: true, nulls, ..lowered })
        }
        Err(reason) => {
            let mut form = Form::of(&source, SchemaDialect::OpenAi)?;
            form.losses.prepend(reason);
            form.finished(description, longest)
        }
    }
}

/// A schema in the words of a dialect, not yet written.
struct Form {
    rules: &'static Rules,
    root: Schema,
    definitions: Vec<(String, Schema)>,
    remarks: Vec<String>,
    losses: Losses,
}

impl Form {
    fn of(source: &Source<'_>, dialect: SchemaDialect) -> Result<Self, String> {
        let rules = Rules::of(dialect);
        let mut losses = Losses::default();
        let read = read::read(source, rules.references, &mut losses)?;
        let mut adapter = Adapter { rules, losses: &mut losses, remarks: Vec::new() };
        let mut root = adapter.root(read.root)?;
        let definitions: Vec<(String, Schema)> =
            read.definitions.into_iter().map(|(name, schema)| (name, adapter.schema(schema))).collect();
        let remarks = adapter.remarks;
        if dialect == SchemaDialect::Gemini {
            root = Gemini { losses: &mut losses }.root(root);
        }
        Ok(Self { rules, root, definitions, remarks, losses })
    }

    /// Turns it into the strict form. Says where `null` was added, or why it cannot be strict.
    fn strict(&mut self) -> Result<HashSet<String>, Lost> {
        let root = std::mem::replace(&mut self.root, Schema::any(""));
        let strict = strict::strict(root, std::mem::take(&mut self.definitions), &mut self.losses)?;
        (self.root, self.definitions) = (strict.root, strict.definitions);
        Ok(strict.nulls)
    }

    fn finished(mut self, description: &str, longest: Option<usize>) -> Result<Lowered, String> {
        let most = longest.unwrap_or(self.rules.description);
        let (description, cut) = text::with_remarks(description, &self.remarks, most);
        if cut {
            self.losses.widened("", "the tool's description", format!("it is cut after {most} characters"));
        }
        let mut keywords = self.root.into_keywords();
        if !self.definitions.is_empty() {
            keywords.put("$defs", Keyword::Map(self.definitions));
        }
        let json = Schema::new("", keywords).to_json();
        let parameters = serde_json::value::to_raw_value(&json).map_err(|error| error.to_string())?;
        if parameters.get().len() > LARGEST {
            return Err(format!("its schema is larger than {} KiB", LARGEST / 1024));
        }
        let lost = self.losses.into_list();
        Ok(Lowered { description, parameters, lost, strict: false, nulls: HashSet::new() })
    }
}
