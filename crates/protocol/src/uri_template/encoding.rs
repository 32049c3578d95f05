//! Percent-encoding for both directions.

use std::fmt::Write;

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn is_reserved(byte: u8) -> bool {
    b":/?#[]@!$&'()*+,;=".contains(&byte)
}

/// Appends a value. With `reserved`, reserved characters and what is encoded already stay as they are.
pub(super) fn encode(value: &str, reserved: bool, out: &mut String) {
    let bytes = value.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        let kept = is_unreserved(byte) || (reserved && (is_reserved(byte) || is_triplet(&bytes[index..])));
        if kept {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

/// Whether the text begins with an encoded byte.
pub(super) fn is_triplet(text: &[u8]) -> bool {
    matches!(text, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Decodes `%XX` once; `None` where one is malformed or the bytes are no text.
pub(super) fn decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

/// Decodes every well-formed `%XX` of bytes once and leaves the rest: for looking for what hides behind
/// several layers.
pub(super) fn decode_leniently(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        match rest {
            [b'%', high, low, tail @ ..] => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                if let (Some(high), Some(low)) = (digit(*high), digit(*low))
                    && let Ok(decoded) = u8::try_from(high * 16 + low)
                {
                    out.push(decoded);
                    rest = tail;
                    continue;
                }
                out.push(byte);
            }
            _ => out.push(byte),
        }
        rest = tail;
    }
    out
}
