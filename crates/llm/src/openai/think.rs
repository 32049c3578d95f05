//! Separates thinking that a server leaves inline, `<think>…</think>` at the start of the text, from the answer.
//!
//! The tags may arrive cut anywhere. A tag in the middle of the text is text: the model may be writing about it.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// White space before the tag that is held back at most, in bytes.
const MAX_LEAD: usize = 64;

#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thinking(String),
}

#[derive(Debug, Default)]
pub(super) struct ThinkSplitter {
    state: State,
    held: String,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Start,
    Inside,
    /// Behind the closing tag; line ends before the answer are dropped.
    Lead,
    Text,
}

impl ThinkSplitter {
    /// Takes more text and returns what is certain by now.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        while self.step(&mut pieces) {}
        pieces
    }

    /// What was held back, at the end of the answer.
    pub(super) fn finish(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        Some(if matches!(self.state, State::Inside) { Piece::Thinking(held) } else { Piece::Text(held) })
    }

    /// Moves on by one state. `false` if more text is needed.
    fn step(&mut self, pieces: &mut Vec<Piece>) -> bool {
        match self.state {
            State::Start => {
                let start = self.held.trim_start();
                if let Some(rest) = start.strip_prefix(OPEN) {
                    self.held = rest.to_owned();
                    self.state = State::Inside;
                } else if OPEN.starts_with(start) && self.held.len() <= MAX_LEAD {
                    return false;
                } else {
                    self.state = State::Text;
                }
                true
            }
            State::Inside => {
                if let Some(end) = self.held.find(CLOSE) {
                    let rest = self.held.split_off(end);
                    push(
                        pieces,
                        Piece::Thinking(std::mem::replace(&mut self.held, rest[CLOSE.len()..].to_owned())),
                    );
                    self.state = State::Lead;
                    return true;
                }
                let rest = self.held.split_off(self.held.len() - partial_tag(&self.held));
                push(pieces, Piece::Thinking(std::mem::replace(&mut self.held, rest)));
                false
            }
            State::Lead => {
                self.held = self.held.trim_start().to_owned();
                if self.held.is_empty() {
                    return false;
                }
                self.state = State::Text;
                true
            }
            State::Text => {
                push(pieces, Piece::Text(std::mem::take(&mut self.held)));
                false
            }
        }
    }
}

fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    let (Piece::Text(text) | Piece::Thinking(text)) = &piece;
    if !text.is_empty() {
        pieces.push(piece);
    }
}

/// How many bytes at the end of `text` may be the beginning of the closing tag.
fn partial_tag(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|length| text.ends_with(&CLOSE[..*length])).unwrap_or(0)
}
