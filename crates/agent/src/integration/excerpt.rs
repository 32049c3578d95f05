//! A text as far as the model is given it: all of it, or its head and tail with a mark between them that says how much
//! is missing and where the whole is.

use serde::{Deserialize, Serialize};

use crate::artefact::{READ_ARTEFACT, SEARCH_ARTEFACT, model_name};

/// The share of the budget that the head gets, in percent. Beginnings say more than ends.
const HEAD_PERCENT: usize = 75;

/// The beginning and the end of a text, which meet if it is short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Excerpt {
    head: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tail: String,
    bytes: usize,
    /// The artefact that holds the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

/// What an excerpt gives within a budget.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fitted {
    pub(super) text: String,
    pub(super) left_out: Option<usize>,
    /// Whether the mark names an artefact that can be read.
    pub(super) readable: bool,
}

impl Excerpt {
    /// Holds at most `most` bytes of the text.
    pub(super) fn of(text: &str, most: usize, kept: Option<String>) -> Self {
        if text.len() <= most {
            return Self { head: text.to_owned(), tail: String::new(), bytes: text.len(), kept };
        }
        let (head, tail) = ends(text, most);
        Self { head: head.to_owned(), tail: tail.to_owned(), bytes: text.len(), kept }
    }

    /// The size of the whole text.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that it can give.
    pub(super) fn held(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// The text within a budget. The mark itself is not counted.
    pub(super) fn fit(&self, budget: usize) -> Fitted {
        if self.held() == self.bytes && self.bytes <= budget {
            return Fitted { text: self.head.clone(), left_out: None, readable: false };
        }
        let budget = budget.min(self.held());
        let (head, tail) = if self.tail.is_empty() && self.head.len() == self.bytes {
            ends(&self.head, budget)
        } else {
            let most = budget * HEAD_PERCENT / 100;
            let head = &self.head[..boundary_before(&self.head, most.min(self.head.len()))];
            let from = self.tail.len() - (budget - most).min(self.tail.len());
            (head, &self.tail[boundary_after(&self.tail, from)..])
        };
        let left_out = self.bytes - head.len() - tail.len();
        let mark = self.mark(left_out, head.len(), budget);
        Fitted {
            text: format!("{head}\n[… {mark} …]\n{tail}"),
            left_out: Some(left_out),
            readable: self.kept.is_some(),
        }
    }

    fn mark(&self, left_out: usize, next: usize, budget: usize) -> String {
        let start = format!("{left_out} of {} bytes left out here", self.bytes);
        match &self.kept {
            Some(id) => format!(
                "{start}; all of it is kept as {id}: read on from offset {next} with {}, or look for something with {}",
                model_name(READ_ARTEFACT),
                model_name(SEARCH_ARTEFACT)
            ),
            None => format!("{start}: the limit is {budget} bytes"),
        }
    }
}

/// Head and tail of a text that is longer than the budget.
pub(super) fn ends(text: &str, budget: usize) -> (&str, &str) {
    let most = budget * HEAD_PERCENT / 100;
    let head = boundary_before(text, most);
    let tail = boundary_after(text, text.len() - (budget - most)).max(head);
    (&text[..head], &text[tail..])
}

fn boundary_before(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn boundary_after(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
