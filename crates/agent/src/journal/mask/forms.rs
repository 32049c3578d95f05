//! The forms in which a secret may stand in a text, all searched for at once: as it is, as it is written in JSON,
//! percent-encoded as in an address or a form, and in Base64, also in the middle of something longer, such as
//! `name:password`. What is left of one in front of a `…`, where somebody cut the text, is found, too.
//!
//! Out of reach is what only its writer knows to be the secret: in hexadecimal digits, compressed, hashed, encoded twice,
//! reversed, or in pieces.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "***";

/// A secret longer than this, in bytes, such as a whole file, is searched for as it is and as in JSON only: every form
/// costs memory.
const LONGEST_IN_ALL_FORMS: usize = 1024;

/// Less than this of a secret, in bytes, is not looked for where a text was cut.
const SHORTEST_BEGINNING: usize = 6;

/// What stands where a text was cut.
const CUT: char = '…';

/// Finds secrets in all their forms.
#[derive(Clone, Default)]
pub(super) struct Finder {
    forms: Vec<Vec<u8>>,
    /// Those of usual length.
    short: Option<AhoCorasick>,
    /// The others, the longest first.
    long: Vec<String>,
}

impl Finder {
    /// For these secrets.
    pub(super) fn new(secrets: &[String]) -> Self {
        let (short, long): (Vec<&String>, Vec<_>) =
            secrets.iter().partition(|secret| secret.len() <= LONGEST_IN_ALL_FORMS);
        let short: Vec<Vec<u8>> = short.into_iter().flat_map(|secret| forms(secret)).collect();
        let mut long: Vec<String> = long.into_iter().flat_map(|secret| written(secret)).collect();
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // The smaller one: it is kept for as long as its session.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&short);
        let forms = short;
        let short = match built {
            _ if forms.is_empty() => None,
            Ok(built) => Some(built),
            // It takes thousands of megabytes of secrets, and they are masked all the same.
            Err(_) => {
                long.extend(secrets.iter().flat_map(|secret| written(secret)));
                None
            }
        };
        long.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { forms, short, long }
    }

    /// Whether there is a secret in it.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.short.as_ref().is_some_and(|short| short.is_match(text))
            || self.long.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// The text without secrets; nothing if there are none in it.
    pub(super) fn masked(&self, text: &str) -> Option<String> {
        let whole = self.without_beginnings(text);
        let text = whole.as_deref().unwrap_or(text);
        if !self.is_in(text) {
            return whole;
        }
        let mut masked =
            self.long.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK));
        if let Some(short) = &self.short {
            let mut out = String::with_capacity(masked.len());
            short.replace_all_with(&masked, &mut out, |_, _, out| {
                out.push_str(MASK);
                true
            });
            masked = out;
        }
        Some(masked)
    }

    /// The text without what is left of secrets where it was cut; nothing if there is none of that.
    fn without_beginnings(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(CUT) {
            let (before, behind) = rest.split_at(at);
            let left = before.len() - self.longest_beginning(before.as_bytes(), SHORTEST_BEGINNING);
            out.push_str(&before[..left]);
            out.push_str(if left < at { MASK } else { "" });
            out.push(CUT);
            rest = &behind[CUT.len_utf8()..];
        }
        out.push_str(rest);
        (out != text).then_some(out)
    }

    fn longest_beginning(&self, text: &[u8], shortest: usize) -> usize {
        let forms = self.forms.iter().map(Vec::as_slice).chain(self.long.iter().map(String::as_bytes));
        forms.map(|form| beginning(text, form, shortest)).max().unwrap_or(0)
    }

    /// Up to which byte of the text, to which more will be added, nothing is the beginning of a secret.
    pub(super) fn settled(&self, text: &str) -> usize {
        let mut from = 0;
        loop {
            let at = text.len() - self.longest_beginning(&text.as_bytes()[from..], 1);
            // What begins within a secret that is whole is no other one.
            let within = self
                .short
                .as_ref()
                .and_then(|short| short.find_iter(text).find(|found| found.start() < at && at < found.end()));
            match within {
                Some(found) => from = found.end(),
                None => return at,
            }
        }
    }

    /// As [`masked`](Self::masked), for bytes that may be text.
    pub(super) fn masked_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let mut masked = Cow::Borrowed(bytes);
        for secret in &self.long {
            let finder = memmem::Finder::new(secret.as_bytes());
            if finder.find(&masked).is_some() {
                masked = Cow::Owned(replaced(&masked, &finder, secret.len()));
            }
        }
        if let Some(short) = &self.short
            && short.is_match(&*masked)
        {
            let mut out = Vec::with_capacity(masked.len());
            short.replace_all_with_bytes(&masked, &mut out, |_, _, out| {
                out.extend_from_slice(MASK.as_bytes());
                true
            });
            masked = Cow::Owned(out);
        }
        masked
    }
}

/// How many bytes at the end of a text are the beginning of this form and not all of it, and at least so many.
fn beginning(text: &[u8], form: &[u8], shortest: usize) -> usize {
    let longest = text.len().min(form.len().saturating_sub(1));
    (shortest..=longest).rev().find(|length| text.ends_with(&form[..*length])).unwrap_or(0)
}

fn forms(secret: &str) -> Vec<Vec<u8>> {
    let mut forms: Vec<String> = written(secret);
    let form: String = byte_serialize(secret.as_bytes()).collect();
    let percent = form.replace('+', "%20");
    for encoded in [form, percent] {
        forms.push(lower_digits(&encoded));
        forms.push(encoded);
    }
    forms.extend((0..3).flat_map(|offset| in_base64(secret, offset)));
    forms.sort_unstable();
    forms.dedup();
    forms.into_iter().map(String::into_bytes).collect()
}

/// The secret as it is, and as it stands inside a JSON text, if that is another form.
fn written(secret: &str) -> Vec<String> {
    let escaped = Value::String(secret.to_owned()).to_string();
    let inner = escaped[1..escaped.len() - 1].to_owned();
    let is_other = inner != secret;
    std::iter::once(secret.to_owned()).chain(is_other.then_some(inner)).collect()
}

/// With `%2f` in the place of `%2F`.
fn lower_digits(encoded: &str) -> String {
    // The sign and two digits.
    let mut left = 0_u8;
    let lower = |character: char| {
        left = if character == '%' { 3 } else { left };
        let is_digit = left > 0;
        left = left.saturating_sub(1);
        if is_digit { character.to_ascii_lowercase() } else { character }
    };
    encoded.chars().map(lower).collect()
}

/// What the secret alone decides of the Base64 of something in which `offset` bytes, or three more of them and so on,
/// stand in front of it.
fn in_base64(secret: &str, offset: usize) -> [String; 2] {
    let bytes = [&[0; 3][..offset], secret.as_bytes()].concat();
    let (begin, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    let inside = |text: String| text.get(begin..end).unwrap_or_default().to_owned();
    [inside(STANDARD_NO_PAD.encode(&bytes)), inside(URL_SAFE_NO_PAD.encode(&bytes))]
}

fn replaced(bytes: &[u8], finder: &memmem::Finder<'_>, length: usize) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
    while let Some(at) = finder.find(rest) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(MASK.as_bytes());
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    use super::{Finder, MASK};

    const SECRET: &str = "s3cr/t \"wörd\"+1";

    fn finder() -> Finder {
        Finder::new(&[SECRET.to_owned(), "x".repeat(5000)])
    }

    #[test]
    fn a_secret_is_found_in_every_form() {
        let longer = |before: &str| format!("{before}{SECRET} and more");
        let mut texts = vec![
            SECRET.to_owned(),
            serde_json::to_string(SECRET).unwrap(),
            "s3cr%2Ft%20%22w%C3%B6rd%22%2B1".to_owned(),
            "s3cr%2ft+%22w%c3%b6rd%22%2b1".to_owned(),
            "x".repeat(5000),
        ];
        for before in ["", "a", "ab", "abc", "name:"] {
            texts.push(STANDARD.encode(longer(before)));
            texts.push(URL_SAFE_NO_PAD.encode(longer(before)));
        }
        for text in texts {
            let framed = format!("before {text} behind");
            let masked = finder().masked(&framed).unwrap_or_else(|| panic!("{text} is not found"));
            assert!(
                masked.starts_with("before ") && masked.ends_with(" behind") && masked.contains(MASK),
                "{masked}"
            );
            let bytes = finder().masked_bytes(framed.as_bytes()).into_owned();
            assert_eq!(String::from_utf8(bytes).unwrap(), masked);
        }
        assert_eq!(finder().masked("nothing of it: s3cr/t"), None);
        assert_eq!(Finder::default().masked(SECRET), None);
        assert_eq!(finder().masked_bytes(b"\xff\xfe").as_ref(), b"\xff\xfe");
    }

    #[test]
    fn what_is_left_of_a_secret_in_a_cut_text_is_found() {
        let encoded = STANDARD.encode(format!("ab{SECRET} and more"));
        for (text, masked) in [
            ("it is s3cr/t \"wö… (99 bytes in all)", Some("it is ***… (99 bytes in all)")),
            ("it is s3cr/t… and s3cr/t \"…", Some("it is ***… and ***…")),
            ("it is s3cr/…", None),
            ("it is s3cr/t and …", None),
            (&format!("{}…", &encoded[..20]), Some(&*format!("{}***…", &encoded[..3]))),
        ] {
            assert_eq!(finder().masked(text).as_deref(), masked, "{text}");
        }
    }

    #[test]
    fn of_secrets_inside_each_other_nothing_of_the_longer_one_is_left() {
        let finder = Finder::new(&["hunter2".to_owned(), "hunter2hunter3".to_owned()]);
        assert_eq!(finder.masked("hunter2hunter3 hunter2").unwrap(), "*** ***");
    }
}
