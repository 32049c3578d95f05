//! Texts as header values [spec: basic/transports/streamable-http, Value Encoding].
//!
//! A header value carries visible ASCII, spaces and tabs, and HTTP drops white space around it. What
//! does not survive that travels as `=?base64?…?=`, and so does a plain text that looks like this form.
//! Which headers there are is not decided here: see [`super::classify`] and [`super::param_headers`].

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// Why a header value could not be read.
///
/// ```
/// use switchboard_protocol::http::value::decode;
///
/// assert!(decode("=?base64?%%%?=").unwrap_err().is_bad_base64());
/// assert!(decode(b"caf\xc3\xa9").unwrap_err().is_bad_character());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct HeaderValueError {
    fault: Fault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("contains characters that no header may carry; encode the value as =?base64?…?=")]
    Character,
    #[error("is marked =?base64?…?= but is not padded standard Base64 in between")]
    Base64,
    #[error("is marked =?base64?…?= but does not decode to UTF-8 text")]
    Utf8,
}

impl HeaderValueError {
    /// The value holds bytes other than visible ASCII, space and tab.
    #[must_use]
    pub fn is_bad_character(&self) -> bool {
        self.fault == Fault::Character
    }

    /// The value claims to be Base64 and is none, or its content is no text.
    #[must_use]
    pub fn is_bad_base64(&self) -> bool {
        matches!(self.fault, Fault::Base64 | Fault::Utf8)
    }
}

/// The header value for a text: the text itself where it survives HTTP unchanged and cannot be taken for
/// the encoded form, else its Base64 form. The result is ASCII without control characters but tabs.
///
/// ```
/// use switchboard_protocol::http::value::encode;
///
/// assert_eq!(encode("us-west1"), "us-west1");
/// assert_eq!(encode("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
/// ```
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(PREFIX.len() + text.len().div_ceil(3) * 4 + SUFFIX.len());
    encoded.push_str(PREFIX);
    STANDARD.encode_string(text, &mut encoded);
    encoded.push_str(SUFFIX);
    Cow::Owned(encoded)
}

fn is_plain(text: &str) -> bool {
    let bytes = text.as_bytes();
    let looks_encoded = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    bytes.iter().all(|byte| is_allowed(*byte)) && trim(bytes).len() == bytes.len() && !looks_encoded
}

fn is_allowed(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t')
}

/// The text of a header value. White space around it belongs to HTTP and is dropped; a value in the
/// encoded form is decoded; everything else, look-alikes included, is the text as it stands.
///
/// # Errors
/// Characters that no header may carry, or an encoded form that is not strictly Base64 of UTF-8 text.
pub fn decode<V: AsRef<[u8]> + ?Sized>(value: &V) -> Result<Cow<'_, str>, HeaderValueError> {
    let trimmed = trim(value.as_ref());
    let text = std::str::from_utf8(trimmed)
        .ok()
        .filter(|text| text.bytes().all(is_allowed))
        .ok_or(HeaderValueError { fault: Fault::Character })?;
    let Some(inner) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Ok(Cow::Borrowed(text));
    };
    let bytes = STANDARD.decode(inner).map_err(|_| HeaderValueError { fault: Fault::Base64 })?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| HeaderValueError { fault: Fault::Utf8 })
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    #[test]
    fn values_are_encoded_exactly_where_they_need_it() {
        for (text, header) in [
            ("us-west1", "us-west1"),
            ("", ""),
            ("a b\tc", "a b\tc"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("\tx", "=?base64?CXg=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
            ("=?base64?", "=?base64?"),
            ("=?BASE64?ZmFzdA==?=", "=?BASE64?ZmFzdA==?="),
            ("x\u{7f}", "=?base64?eH8=?="),
            ("res://测试", "=?base64?cmVzOi8v5rWL6K+V?="),
        ] {
            assert_eq!(encode(text), header);
            assert_eq!(decode(header).unwrap(), text);
        }
    }

    #[test]
    fn values_are_decoded_before_they_are_compared() {
        for (header, text) in [
            (&b"=?base64?ZmFzdA==?="[..], Some("fast")),
            (b"  fast\t", Some("fast")),
            (b"=?base64??=", Some("")),
            (b"=?BASE64?ZmFzdA==?=", Some("=?BASE64?ZmFzdA==?=")),
            (b"=?base64?ZmFzdA==", Some("=?base64?ZmFzdA==")),
            (b"=?base64?=", Some("=?base64?=")),
            (b"x=?base64?ZmFzdA==?=", Some("x=?base64?ZmFzdA==?=")),
            (b"=?base64?%%%?=", None),
            (b"=?base64?ZmFzdA=?=", None),
            (b"=?base64?ZmFzdA?=", None),
            (b"=?base64?ZmFzdB==?=", None),
            (b"=?base64? ZmFzdA==?=", None),
            (b"=?base64?_-8=?=", None),
            (b"=?base64?/w==?=", None),
            ("res://测试".as_bytes(), None),
            (b"a\x00b", None),
            (b"a\r\nEvil: 1", None),
            (b"\x7f", None),
        ] {
            let decoded = decode(header).ok();
            assert_eq!(decoded.as_deref(), text, "{}", String::from_utf8_lossy(header));
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(text in any::<String>()) {
            let header = encode(&text);
            assert!(header.bytes().all(is_allowed) && trim(header.as_bytes()) == header.as_bytes());
            assert!(http::HeaderValue::from_str(&header).is_ok());
            assert_eq!(decode(header.as_ref()).unwrap(), text);
        }

        #[test]
        fn no_value_panics(header in any::<Vec<u8>>()) {
            let _ = decode(&header);
        }
    }
}
