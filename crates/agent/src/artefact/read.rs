//! A range of a text artefact, by bytes or by lines, never tearing a character, in bounded memory.

use super::ArtefactSink;
use crate::store::{ArtefactRecord, StoreError};

/// Bytes that are looked through at a time.
pub(super) const WINDOW: usize = 1 << 20;

/// The most bytes of a character.
const CHARACTER: u64 = 4;

/// Which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// From this byte, at most so many.
    Bytes { offset: u64, length: usize },
    /// From this line, counted from 1, at most so many lines and bytes.
    Lines { first: u64, count: u64, length: usize },
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) text: String,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// Reads a part of a text.
pub(super) fn part(
    sink: &dyn ArtefactSink,
    record: &ArtefactRecord,
    range: Range,
) -> Result<Part, StoreError> {
    match range {
        Range::Bytes { offset, length } => bytes(sink, record, offset, length),
        Range::Lines { first, count, length } => {
            let Some(from) = line_start(sink, record, first)? else {
                return Ok(Part { text: String::new(), from: record.bytes, to: record.bytes });
            };
            let mut part = bytes(sink, record, from, length)?;
            let ends = part.text.match_indices('\n').map(|(at, _)| at + 1);
            let last = usize::try_from(count.max(1) - 1).unwrap_or(usize::MAX);
            if let Some(end) = ends.into_iter().nth(last) {
                part.text.truncate(end);
                part.to = part.from + end as u64;
            }
            Ok(part)
        }
    }
}

fn bytes(
    sink: &dyn ArtefactSink,
    record: &ArtefactRecord,
    offset: u64,
    length: usize,
) -> Result<Part, StoreError> {
    let offset = offset.min(record.bytes);
    // A character that begins before the range belongs to what was read before.
    let lead = offset.min(CHARACTER - 1);
    let read = sink.bytes(&record.id, offset - lead, length.saturating_add(2 * CHARACTER as usize))?;
    let skip = usize::try_from(lead).unwrap_or_default().min(read.len());
    let from = (skip..read.len()).find(|at| starts_character(read[*at])).unwrap_or(read.len());
    let end = skip.saturating_add(length).min(read.len());
    let to = (from..=end).rev().find(|at| *at == read.len() || starts_character(read[*at])).unwrap_or(from);
    // A range shorter than the character at its beginning still moves on.
    let to = match to {
        to if to == from && from < read.len() => {
            (from + 1..read.len()).find(|at| starts_character(read[*at])).unwrap_or(read.len())
        }
        to => to,
    };
    let start = offset - lead;
    Ok(Part {
        text: String::from_utf8_lossy(&read[from..to]).into_owned(),
        from: start + from as u64,
        to: start + to as u64,
    })
}

fn starts_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// Where a line begins, if there is one.
fn line_start(
    sink: &dyn ArtefactSink,
    record: &ArtefactRecord,
    line: u64,
) -> Result<Option<u64>, StoreError> {
    let mut missing = line.max(1) - 1;
    let mut at = 0;
    while missing > 0 {
        let window = sink.bytes(&record.id, at, WINDOW)?;
        if window.is_empty() {
            return Ok(None);
        }
        for newline in memchr::memchr_iter(b'\n', &window) {
            missing -= 1;
            if missing == 0 {
                let start = at + newline as u64 + 1;
                return Ok((start < record.bytes).then_some(start));
            }
        }
        at += window.len() as u64;
    }
    Ok(Some(0))
}
