//! The digest of a call's parameters, to which a token is bound.
//!
//! Two texts of the same arguments give the same digest: order of members, white space and escapes in
//! strings do not count. Numbers count as they are written, since not every peer reads them alike.

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// Nesting that is put in order; what lies deeper counts as it is written.
const MAX_DEPTH: usize = 128;

/// SHA-256 over what a call is about: `target` (the tool, prompt or resource; empty where there is none)
/// and its arguments.
///
/// ```
/// use serde_json::value::RawValue;
/// use switchboard_protocol::seal::params_digest;
///
/// let one: Box<RawValue> = serde_json::from_str(r#"{"a": 1, "b": "x"}"#)?;
/// let same: Box<RawValue> = serde_json::from_str(r#"{"b":"\u0078","a":1}"#)?;
/// assert_eq!(params_digest("pay", Some(&one)), params_digest("pay", Some(&same)));
/// assert_ne!(params_digest("pay", Some(&one)), params_digest("refund", Some(&one)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn params_digest(target: &str, arguments: Option<&RawValue>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update((target.len() as u64).to_be_bytes());
    hasher.update(target.as_bytes());
    if let Some(arguments) = arguments {
        let mut canonical = Vec::with_capacity(arguments.get().len());
        Reader { rest: arguments.get() }.value(&mut canonical, 0);
        hasher.update(canonical);
    }
    hasher.finalize().into()
}

/// Walks a JSON text that is known to be valid. It cannot panic on one that is not, it only ends early.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn value(&mut self, out: &mut Vec<u8>, depth: usize) {
        self.skip_space();
        match self.rest.as_bytes().first() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => {
                let text = self.verbatim();
                out.extend_from_slice(text.as_bytes());
            }
            Some(b'{') => self.object(out, depth),
            Some(b'[') => self.array(out, depth),
            Some(b'"') => write_string(self.string(), out),
            _ => {
                let end = self
                    .rest
                    .find(|c: char| matches!(c, ',' | '}' | ']') || c.is_ascii_whitespace())
                    .unwrap_or(self.rest.len());
                out.extend_from_slice(self.take(end).as_bytes());
            }
        }
    }

    fn array(&mut self, out: &mut Vec<u8>, depth: usize) {
        self.take(1);
        out.push(b'[');
        let mut first = true;
        while self.more(']') {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            self.value(out, depth + 1);
        }
        out.push(b']');
    }

    fn object(&mut self, out: &mut Vec<u8>, depth: usize) {
        self.take(1);
        let mut members: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        while self.more('}') {
            let (mut name, mut value) = (Vec::new(), Vec::new());
            write_string(self.string(), &mut name);
            self.skip_space();
            self.take(1);
            self.value(&mut value, depth + 1);
            members.push((name, value));
        }
        // Equal names keep their order: a decoder may prefer the last.
        members.sort_by(|left, right| left.0.cmp(&right.0));
        out.push(b'{');
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            out.extend_from_slice(value);
        }
        out.push(b'}');
    }

    /// Moves to the next member, or past the end of the container.
    fn more(&mut self, close: char) -> bool {
        self.skip_space();
        if self.rest.starts_with(',') {
            self.take(1);
            self.skip_space();
        }
        if self.rest.starts_with(close) {
            self.take(1);
            return false;
        }
        !self.rest.is_empty()
    }

    /// The next string with its quotes, as it is written.
    fn string(&mut self) -> &'a str {
        let mut escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        self.take(end.map_or(self.rest.len(), |end| end + 2))
    }

    /// A whole container as it is written.
    fn verbatim(&mut self) -> &'a str {
        let start = self.rest;
        let mut open = 0usize;
        loop {
            match self.rest.as_bytes().first() {
                None => return start,
                Some(b'"') => {
                    self.string();
                }
                Some(byte) => {
                    match byte {
                        b'{' | b'[' => open += 1,
                        b'}' | b']' => open = open.saturating_sub(1),
                        _ => {}
                    }
                    let width = self.rest.chars().next().map_or(1, char::len_utf8);
                    self.take(width);
                    if open == 0 {
                        return &start[..start.len() - self.rest.len()];
                    }
                }
            }
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }
}

/// Writes a string with the escapes that are necessary and no others.
fn write_string(literal: &str, out: &mut Vec<u8>) {
    let written = out.len();
    let rewritten = literal.contains('\\')
        && serde_json::from_str::<String>(literal)
            .is_ok_and(|text| serde_json::to_writer(&mut *out, &text).is_ok());
    if !rewritten {
        out.truncate(written);
        out.extend_from_slice(literal.as_bytes());
    }
}
