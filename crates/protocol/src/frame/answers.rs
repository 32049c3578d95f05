//! The answers in a text that is no message: cut off, with a `NaN` in it, two in one line, or a batch where
//! there are none. Whoever waits for one of them learns what became of it instead of waiting in vain.
//!
//! Read only when the ordinary reading has failed, in one pass without recursion. It judges nothing but
//! whether an object has an id and an outcome of its own: values may be any text, as long as strings and
//! brackets say where they end.

use crate::id::RequestId;

/// Every integer below this is exact as a floating-point number.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The ids of the answers that the text begins with, in their order.
///
/// ```
/// use switchboard_protocol::RequestId;
/// use switchboard_protocol::frame::answers_in;
///
/// let cut_off = br#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"ty"#;
/// assert_eq!(answers_in(cut_off).collect::<Vec<_>>(), [RequestId::from(3)]);
/// assert_eq!(answers_in(b"listening on port 3").next(), None);
/// ```
pub fn answers_in(text: &[u8]) -> impl Iterator<Item = RequestId> + '_ {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).trim_ascii_start();
    Answers { rest: text.strip_prefix(b"[").unwrap_or(text) }
}

struct Answers<'a> {
    rest: &'a [u8],
}

impl Iterator for Answers<'_> {
    type Item = RequestId;

    fn next(&mut self) -> Option<RequestId> {
        loop {
            self.pass_separators();
            self.rest = self.rest.strip_prefix(b"{")?;
            if let Some(id) = self.object().answers() {
                return Some(id);
            }
        }
    }
}

/// What the members of an object say.
#[derive(Default)]
struct Members<'a> {
    id: Option<&'a [u8]>,
    ids_differ: bool,
    has_method: bool,
    has_outcome: bool,
}

impl<'a> Members<'a> {
    fn take(&mut self, name: &[u8], value: &'a [u8]) {
        match name {
            b"id" => {
                self.ids_differ |= self.id.is_some_and(|known| known != value);
                self.id = Some(value);
            }
            b"method" => self.has_method = true,
            b"result" | b"error" => self.has_outcome = true,
            _ => {}
        }
    }

    fn answers(&self) -> Option<RequestId> {
        let is_answer = self.has_outcome && !self.has_method && !self.ids_differ;
        read_id(self.id.filter(|_| is_answer)?)
    }
}

/// An id, or a number that is a whole one for all its spelling.
fn read_id(text: &[u8]) -> Option<RequestId> {
    serde_json::from_slice(text).ok().or_else(|| {
        let number = serde_json::from_slice::<f64>(text).ok()?;
        let is_whole = number.fract() == 0.0 && number.abs() < EXACT;
        #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
        is_whole.then_some(RequestId::Integer(number as i128))
    })
}

impl<'a> Answers<'a> {
    /// Reads to the end of an object whose bracket has been passed, or to that of the text.
    fn object(&mut self) -> Members<'a> {
        let mut members = Members::default();
        loop {
            self.pass_separators();
            match self.rest {
                [] => return members,
                [b'}', rest @ ..] => {
                    self.rest = rest;
                    return members;
                }
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    let name = self.string();
                    self.rest = self.rest.trim_ascii_start();
                    if let Some(rest) = self.rest.strip_prefix(b":") {
                        self.rest = rest;
                        members.take(name, self.value());
                    }
                }
                _ => {
                    self.value();
                }
            }
        }
    }

    fn pass_separators(&mut self) {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count();
        self.rest = &self.rest[length..];
    }

    /// Passes whatever stands before the next comma or bracket of the object.
    fn value(&mut self) -> &'a [u8] {
        let start = self.rest;
        let mut depth = 0_usize;
        while let [byte, rest @ ..] = self.rest {
            match byte {
                b',' | b'}' if depth == 0 => break,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.rest = rest;
            if *byte == b'"' {
                self.string();
            }
        }
        start[..start.len() - self.rest.len()].trim_ascii()
    }

    /// Passes the rest of a string and its quote, and gives what it holds.
    fn string(&mut self) -> &'a [u8] {
        let start = self.rest;
        let mut escaped = false;
        let length = start.iter().take_while(|byte| {
            let ends = **byte == b'"' && !escaped;
            escaped = **byte == b'\\' && !escaped;
            !ends
        });
        let length = length.count();
        self.rest = start.get(length + 1..).unwrap_or_default();
        &start[..length]
    }
}
