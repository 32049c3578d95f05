//! Ranks the tools against a question.
//!
//! BM25 over all words of a tool says which one speaks most of what the question speaks of. Two things that
//! BM25 cannot know move its score: whether the tool's arguments can be read from the question, and whether the
//! tool has a place for what the question names. Whether the best one is good enough at all is decided by the
//! share of the question's words that it covers, weighed by where the tool has them, because scores of BM25 mean nothing from one set of tools to
//! the next.

use bm25::{Document, SearchEngineBuilder, Tokenizer};
use serde_json::Value;

use super::fill::{Filled, fill};
use super::question::Question;
use super::schema::{Parameter, parameters};
use super::words;
use crate::exposure::ExposedTool;

/// The share of the question's words that a tool must cover. Words of its name and title count fully.
pub(super) const THRESHOLD: f32 = 0.34;

/// What a word counts that stands only in the description or the parameters.
const WEAKER_FIELD: f32 = 0.6;

/// What a word counts of which the tool only speaks in a broader sense.
const BROADER_TERM: f32 = 0.5;

/// Times that the words of a name and of a title stand in the document, to make them weigh more.
const NAME_WEIGHT: usize = 3;
const TITLE_WEIGHT: usize = 2;

/// The most terms that are read of all tools together, and the fewest and the most of one.
const TERMS_OF_ALL: usize = 400_000;
const TERMS_OF_ONE: (usize, usize) = (40, 4000);

/// The most bytes of one text of a tool that are read.
const TEXT_BYTES: usize = 16 * 1024;

/// What a required argument that cannot be read leaves of a score.
const MISSING: f32 = 0.3;
/// What a name leaves of a score that the tool has no place for.
const UNUSED_NAME: f32 = 0.5;
/// What an expression makes of the score of a tool that takes it.
const EXPRESSION: f32 = 3.0;

/// A tool and how well it fits.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    pub(super) tool: &'a ExposedTool,
    pub(super) score: f32,
    /// Of the question's words, from 0 to 1.
    pub(super) share: f32,
    /// The words of the question that the tool speaks of, with what they were taken for.
    pub(super) matched: Vec<(String, String)>,
    pub(super) filled: Filled,
}

#[derive(Clone, Copy, Debug, Default)]
struct Terms;

impl Tokenizer for Terms {
    fn tokenize(&self, text: &str) -> Vec<String> {
        words::terms(text)
    }
}

/// What a tool says, by field, as terms.
struct Fields {
    name: Vec<String>,
    title: Vec<String>,
    rest: Vec<String>,
    parameters: Vec<Parameter>,
}

impl Fields {
    /// Reads at most `most` terms of the description and the parameters.
    fn of(tool: &ExposedTool, most: usize) -> Self {
        let definition = tool.tool();
        let parameters = parameters(&tool.schema());
        let description = definition.description.as_deref();
        let texts = description.into_iter().chain(parameters.iter().flat_map(|parameter| {
            let values = match &parameter.kind {
                super::schema::Kind::OneOf(values) => values.as_slice(),
                _ => &[],
            };
            std::iter::once(parameter.name.as_str())
                .chain(parameter.description.as_deref())
                .chain(values.iter().filter_map(Value::as_str))
        }));
        let rest = texts.flat_map(head_words).flat_map(words::terms_of).take(most).collect();
        let title = definition.title.as_deref().unwrap_or_default();
        let short = |text| head_words(text).into_iter().flat_map(words::terms_of).take(most).collect();
        Self { name: short(&definition.name), title: short(title), rest, parameters }
    }

    fn document(&self) -> String {
        let mut words = Vec::new();
        (0..NAME_WEIGHT).for_each(|_| words.extend_from_slice(&self.name));
        (0..TITLE_WEIGHT).for_each(|_| words.extend_from_slice(&self.title));
        words.extend_from_slice(&self.rest);
        words.join(" ")
    }

    fn weight(&self, term: &str) -> f32 {
        let holds = |terms: &[String], wanted: &str| terms.iter().any(|term| term == wanted);
        let speaks = |wanted: &str| {
            holds(&self.name, wanted) || holds(&self.title, wanted) || holds(&self.rest, wanted)
        };
        if holds(&self.name, term) || holds(&self.title, term) {
            1.0
        } else if holds(&self.rest, term) {
            WEAKER_FIELD
        } else if words::broader(term).any(speaks) {
            BROADER_TERM
        } else {
            0.0
        }
    }
}

/// The words at the beginning of a text.
fn head_words(text: &str) -> Vec<&str> {
    words::split(crate::visible::head(text, TEXT_BYTES))
}

/// All tools, the best first. The order of equals is the order of `tools`.
pub(super) fn rank<'a>(question: &Question, tools: &'a [ExposedTool]) -> Vec<Candidate<'a>> {
    let (fewest, most) = TERMS_OF_ONE;
    let each = (TERMS_OF_ALL / tools.len().max(1)).clamp(fewest, most);
    let fields: Vec<Fields> = tools.iter().map(|tool| Fields::of(tool, each)).collect();
    let documents = fields.iter().enumerate().map(|(index, fields)| Document::new(index, fields.document()));
    let engine =
        SearchEngineBuilder::<usize, u32, Terms>::with_tokenizer_and_documents(Terms, documents).build();
    let asked = question.terms();
    let mut query: Vec<String> = asked.iter().map(|(_, term)| term.clone()).collect();
    let broader: Vec<String> =
        query.iter().flat_map(|term| words::broader(term)).map(str::to_owned).collect();
    query.extend(broader);
    if question.expression.is_some() {
        query.push(words::CALCULATE.to_owned());
    }
    let mut scores = vec![0.0; tools.len()];
    for result in engine.search(&query.join(" "), None) {
        scores[result.document.id] = result.score;
    }
    let asked: Vec<(&str, String)> = asked.into_iter().filter(|(_, term)| !words::is_weak(term)).collect();
    let asked = Asked { question, terms: &asked };
    let mut candidates: Vec<Candidate<'a>> = tools
        .iter()
        .zip(fields)
        .zip(scores)
        .map(|((tool, fields), score)| candidate(&asked, tool, &fields, score))
        .collect();
    candidates.sort_by(|left, right| right.score.total_cmp(&left.score));
    candidates
}

/// A question with its terms, which are the same for every tool.
struct Asked<'q> {
    question: &'q Question,
    terms: &'q [(&'q str, String)],
}

fn candidate<'a>(asked: &Asked<'_>, tool: &'a ExposedTool, fields: &Fields, bm25: f32) -> Candidate<'a> {
    let Asked { question, terms } = *asked;
    let filled = fill(question, &fields.parameters, &fields.name);
    let used = |word: &str| filled.used_words.iter().any(|used| used == &word.to_lowercase());
    let mut matched = Vec::new();
    let (mut covered, mut total) = (0.0, 0.0);
    for (word, term) in terms {
        // What fills a parameter says nothing about which tool is meant, even where a description has the
        // same word as an example.
        let weight = if used(word) { 1.0 } else { fields.weight(term) };
        if weight > 0.0 && !used(word) {
            matched.push(((*word).to_owned(), term.clone()));
        }
        covered += weight;
        total += 1.0;
    }
    if question.expression.is_some() {
        covered += if filled.used_expression { 1.0 } else { 0.0 };
        total += 1.0;
    }
    let speaks = !matched.is_empty() || filled.used_expression;
    let share = if speaks && total > 0.0 { covered / total } else { 0.0 };
    let mut score = bm25 * (0.5 + share) * (1.0 + name_share(fields, terms) / 4.0);
    score *= MISSING.powi(i32::try_from(filled.missing.len()).unwrap_or(i32::MAX));
    // A name that is a word of the tool, such as CO2, has its place.
    let foreign = |name: &&String| words::terms(name).iter().all(|term| fields.weight(term) == 0.0);
    let unused = filled.unused_names.iter().filter(foreign).count();
    score *= UNUSED_NAME.powi(i32::try_from(unused).unwrap_or(i32::MAX));
    if filled.used_expression {
        score *= EXPRESSION;
    }
    Candidate { tool, score, share, matched, filled }
}

/// How much of the tool's own name the question speaks of.
fn name_share(fields: &Fields, terms: &[(&str, String)]) -> f32 {
    if fields.name.is_empty() {
        return 0.0;
    }
    let asked = fields.name.iter().filter(|own| terms.iter().any(|(_, term)| term == *own)).count();
    #[expect(clippy::cast_precision_loss, reason = "a name has few words")]
    let share = asked as f32 / fields.name.len() as f32;
    share
}
