//! A large `tools/call`, cut in two: the message without its arguments, and the arguments.
//!
//! A decoder that has to find the end of a megabyte before it decodes it reads it twice. Here the first
//! of those readings is replaced by one that runs over strings at the speed of memory. It is as strict
//! as the decoder, or stricter: whatever it is not sure about is not cut, and read the ordinary way.

use std::ops::Range;

/// Below this, cutting is not worth its while.
const LARGE: usize = 16 * 1024;

/// Deeper arguments are not cut.
const DEPTH: usize = 64;

/// The two parts.
pub(super) struct Cut {
    /// The message with `{}` in place of the arguments.
    pub(super) head: Vec<u8>,
    /// Where the arguments stand in the body: well-formed JSON, an object.
    pub(super) arguments: Range<usize>,
}

/// Cuts a body, if it is large and its arguments are plain to see.
pub(super) fn cut(body: &[u8]) -> Option<Cut> {
    if body.len() < LARGE { None } else { cut_any(body) }
}

fn cut_any(body: &[u8]) -> Option<Cut> {
    let mut scan = Scan { bytes: body, at: 0 };
    let mut arguments: Option<Range<usize>> = None;
    scan.space();
    scan.members(|scan, key| match key {
        b"params" => scan.members(|scan, key| match key {
            b"arguments" => {
                let start = scan.at;
                scan.members(|scan, _| scan.value(DEPTH))?;
                // A second member of the same name makes the message ambiguous.
                arguments.replace(start..scan.at).is_none().then_some(())
            }
            _ => scan.value(DEPTH),
        }),
        _ => scan.value(DEPTH),
    })?;
    scan.space();
    let arguments = arguments.filter(|_| scan.at == body.len())?;
    let head = [&body[..arguments.start], b"{}", &body[arguments.end..]].concat();
    Some(Cut { head, arguments })
}

/// A place in JSON text. Every method moves past what it names, or gives `None`.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// An object; `member` moves past the value of each key.
    fn members(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.byte(b'{')?;
        self.space();
        if self.byte(b'}').is_some() {
            return Some(());
        }
        loop {
            let start = self.at + 1;
            let is_plain = self.string()?;
            // An escaped key may be any key.
            let key = is_plain.then(|| &self.bytes[start..self.at - 1])?;
            self.space();
            self.byte(b':')?;
            self.space();
            member(self, key)?;
            self.space();
            if self.byte(b'}').is_some() {
                return Some(());
            }
            self.byte(b',')?;
            self.space();
        }
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => {
                let depth = depth.checked_sub(1)?;
                self.members(|scan, _| scan.value(depth))
            }
            b'[' => self.elements(depth.checked_sub(1)?),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => self.number(),
        }
    }

    fn elements(&mut self, depth: usize) -> Option<()> {
        self.byte(b'[')?;
        self.space();
        if self.byte(b']').is_some() {
            return Some(());
        }
        loop {
            self.value(depth)?;
            self.space();
            if self.byte(b']').is_some() {
                return Some(());
            }
            self.byte(b',')?;
            self.space();
        }
    }

    /// A string; whether it has no escapes.
    fn string(&mut self) -> Option<bool> {
        self.byte(b'"')?;
        let mut is_plain = true;
        loop {
            let rest = &self.bytes[self.at..];
            let end = memchr::memchr2(b'"', b'\\', rest)?;
            let run = &rest[..end];
            // The least byte, without an early exit: that is done many bytes at a time.
            let least = run.iter().copied().fold(u8::MAX, u8::min);
            if least < 0x20 || std::str::from_utf8(run).is_err() {
                return None;
            }
            self.at += end + 1;
            if rest[end] == b'"' {
                return Some(is_plain);
            }
            is_plain = false;
            self.escape()?;
        }
    }

    fn escape(&mut self) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.bytes.get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn literal(&mut self, text: &[u8]) -> Option<()> {
        self.bytes[self.at..].starts_with(text).then(|| self.at += text.len())
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.byte(b'-');
        if self.byte(b'0').is_none() {
            self.digits()?;
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert, proptest};
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    use super::{cut, cut_any};

    #[test]
    fn a_message_is_cut_at_its_arguments() {
        let body =
            br#" {"id":1,"params":{"x":{"arguments":1},"arguments": {"a":[1,{}]} ,"name":"n"},"z":[]} "#;
        let parts = cut_any(body).unwrap();
        assert_eq!(&body[parts.arguments.clone()], br#"{"a":[1,{}]}"#);
        let head: Value = serde_json::from_slice(&parts.head).unwrap();
        assert_eq!(head["params"], json!({"x": {"arguments": 1}, "arguments": {}, "name": "n"}));
        assert!(cut(body).is_none(), "it is not large");
    }

    #[test]
    fn what_is_ambiguous_or_no_object_is_not_cut() {
        for body in [
            r#"{"params":{"arguments":{},"arguments":{}}}"#,
            r#"{"params":{"arguments":{}},"params":{"arguments":{}}}"#,
            r#"{"params":{"argument\u0073":{},"arguments":{}}}"#,
            r#"{"params":{"arguments":[]}}"#,
            r#"{"params":{"arguments":null}}"#,
            r#"{"params":{}}"#,
            r#"{"arguments":{}}"#,
            r#"{"params":{"arguments":{}}} x"#,
            r#"{"params":{"arguments":{}}"#,
            r#"{"params":{"arguments":{"a":01}}}"#,
            r#"{"params":{"arguments":{"a":1.}}}"#,
            r#"{"params":{"arguments":{"a":"\x"}}}"#,
            r#"{"params":{"arguments":{"a":"\u12g4"}}}"#,
            "{\"params\":{\"arguments\":{\"a\":\"\n\"}}}",
            r#"{"params":{"arguments":{"a":1,}}}"#,
            r#"{"params":{"arguments":{"a" 1}}}"#,
            "",
            "[]",
        ] {
            assert!(cut_any(body.as_bytes()).is_none(), "{body}");
        }
        assert!(cut_any(b"{\"params\":{\"arguments\":{\"a\":\"\xff\"}}}").is_none());
        let deep = format!(r#"{{"params":{{"arguments":{{"a":{}}}}}}}"#, "[".repeat(100_000));
        assert!(cut_any(deep.as_bytes()).is_none());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop::strategy::Union::new([
            any::<f64>().prop_map(Value::from).boxed(),
            any::<i64>().prop_map(Value::from).boxed(),
            any::<String>().prop_map(Value::from).boxed(),
            any::<Option<bool>>().prop_map(Value::from).boxed(),
        ]);
        leaf.prop_recursive(4, 32, 4, |inner| {
            let members = prop::collection::btree_map(any::<String>(), inner.clone(), 0..4);
            prop::strategy::Union::new([
                prop::collection::vec(inner, 0..4).prop_map(Value::from).boxed(),
                members.prop_map(|members| members.into_iter().collect()).boxed(),
            ])
        })
    }

    proptest! {
        #[test]
        fn what_is_cut_is_what_a_decoder_would_have_found(argument in value(), spaced in any::<bool>()) {
            let message = json!({"id": "x", "params": {"arguments": {"a": argument}, "name": "n"}});
            let text = if spaced { format!("{message:#}") } else { message.to_string() };
            let found = cut_any(text.as_bytes()).map(|parts| parts.arguments);
            let found: Option<Value> =
                found.map(|range| serde_json::from_slice(&text.as_bytes()[range]).unwrap());
            // Escaped keys are left alone.
            prop_assert!(found.is_none_or(|found| found == message["params"]["arguments"]));
        }

        #[test]
        fn what_is_cut_is_well_formed(noise in r#"[\[\]{}",:\\ 0-9.eE+a-u-]{0,24}"#) {
            let text = format!(r#"{{"params":{{"arguments":{{"a":{noise}}}}}}}"#);
            if let Some(parts) = cut_any(text.as_bytes()) {
                let decoded = serde_json::from_slice::<&RawValue>(&text.as_bytes()[parts.arguments]);
                prop_assert!(decoded.is_ok(), "{text}");
            }
        }
    }
}
