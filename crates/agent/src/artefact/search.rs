//! Looks for something in a text artefact, in bounded memory and linear time.
//!
//! The text is looked through in windows that overlap, so that a match is found wherever it lies, as long as it is
//! not longer than the overlap.

use regex::bytes::{Regex, RegexBuilder};

use super::ArtefactSink;
use super::read::WINDOW;
use crate::store::{ArtefactRecord, StoreError};

/// The longest match, in bytes.
const OVERLAP: usize = 64 * 1024;

/// How large a compiled pattern may get.
const PATTERN_BYTES: usize = 1 << 20;

/// What to look for.
#[derive(Debug)]
pub(super) struct Search {
    pattern: Regex,
    /// Matches to skip, and to give at most.
    pub(super) skip: usize,
    pub(super) most: usize,
    /// Characters around a match, and bytes of all that is given.
    pub(super) context: usize,
    pub(super) bytes: usize,
}

/// One match, with what stands around it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) text: String,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) matches: Vec<Match>,
    /// Whether there are more.
    pub(super) more: bool,
}

impl Search {
    /// A text as it stands, or a regular expression.
    pub(super) fn new(pattern: &str, is_regex: bool, ignore_case: bool) -> Result<Self, String> {
        if pattern.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let escaped = if is_regex { pattern.to_owned() } else { regex::escape(pattern) };
        let built = RegexBuilder::new(&escaped)
            .case_insensitive(ignore_case)
            .multi_line(true)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build();
        let pattern = built.map_err(|error| format!("the pattern cannot be used: {error}"))?;
        if pattern.is_match(b"") {
            return Err("the pattern matches everywhere, because it matches nothing at all".to_owned());
        }
        Ok(Self { pattern, skip: 0, most: 20, context: 80, bytes: 16 * 1024 })
    }

    /// Looks through the whole text, up to the last match that is wanted.
    pub(super) fn run(&self, sink: &dyn ArtefactSink, record: &ArtefactRecord) -> Result<Found, StoreError> {
        let mut found = Found::default();
        let mut place = Place { window: Vec::new(), start: 0, line: 1, fresh: 0 };
        let (mut skipped, mut given) = (0, 0);
        loop {
            let last = place.load(sink, record)?;
            // What begins in the overlap is found in the next window, where it is whole.
            let until = if last { place.window.len() } else { place.window.len().saturating_sub(OVERLAP) };
            while let Some(hit) = self.pattern.find_at(&place.window, place.fresh) {
                if hit.start() >= until {
                    break;
                }
                // A match of nothing says nothing.
                place.fresh = hit.end() + usize::from(hit.is_empty());
                if hit.is_empty() {
                    continue;
                }
                if skipped < self.skip {
                    skipped += 1;
                    continue;
                }
                if found.matches.len() == self.most || given >= self.bytes {
                    found.more = true;
                    return Ok(found);
                }
                let hit = place.describe(hit.start(), hit.end(), self.context);
                given += hit.text.len();
                found.matches.push(hit);
            }
            if last {
                return Ok(found);
            }
            place.advance(until);
        }
    }
}

/// A window on the text.
struct Place {
    window: Vec<u8>,
    /// Where the window begins in the text, and in which line.
    start: u64,
    line: u64,
    /// What lies before it in the window was looked at already.
    fresh: usize,
}

impl Place {
    /// Fills the window up. `true` at the end of the text.
    fn load(&mut self, sink: &dyn ArtefactSink, record: &ArtefactRecord) -> Result<bool, StoreError> {
        let at = self.start + self.window.len() as u64;
        let more = sink.bytes(&record.id, at, WINDOW)?;
        self.window.extend_from_slice(&more);
        Ok(more.len() < WINDOW || self.start + self.window.len() as u64 >= record.bytes)
    }

    /// Moves on to `until`, but keeps some of what lies before it, for the context of the next match.
    fn advance(&mut self, until: usize) {
        let gone = until.saturating_sub(OVERLAP);
        self.line += memchr::memchr_iter(b'\n', &self.window[..gone]).count() as u64;
        self.window.drain(..gone);
        self.start += gone as u64;
        self.fresh = self.fresh.max(until) - gone;
    }

    fn describe(&self, from: usize, to: usize, context: usize) -> Match {
        let window = &self.window;
        // Whole characters only; the bytes around a match may tear one.
        let begin = (from.saturating_sub(context)..=from).find(|at| is_boundary(window, *at)).unwrap_or(from);
        let end = to.saturating_add(context).min(window.len());
        let end = (to..=end).rev().find(|at| is_boundary(window, *at)).unwrap_or(to);
        Match {
            offset: self.start + from as u64,
            line: self.line + memchr::memchr_iter(b'\n', &window[..from]).count() as u64,
            text: String::from_utf8_lossy(&window[begin..end]).into_owned(),
        }
    }
}

fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000)
}
