//! Makes visible what a peer may have hidden: control, bidirectional and other invisible characters.
//!
//! Used wherever text of a server or a model is shown to a person who decides something. It changes only what
//! is shown, never what is sent.

use std::fmt::Write as _;

use serde_json::value::RawValue;
pub use switchboard_protocol::visible::is_invisible;

/// Makes the symbol before it an emoji.
const EMOJI_MARK: char = '\u{fe0f}';
/// Makes the symbol before it a plain sign.
const TEXT_MARK: char = '\u{fe0e}';
/// Makes one emoji of two.
pub const JOINER: char = '\u{200d}';
/// Makes a key of the digit before it.
const KEYCAP: char = '\u{20e3}';

/// The text with every invisible character written as `\u{…}` and every backslash doubled, so that no text
/// can imitate another's escapes.
#[must_use]
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push(&mut out, character);
    }
    out
}

/// Like [`line()`], in quotation marks and cut to `chars` characters with a mark that says so.
#[must_use]
pub fn quoted(text: &str, chars: usize) -> String {
    let mut out = String::from("\"");
    for (index, character) in text.chars().enumerate() {
        if index == chars {
            out.push('…');
            break;
        }
        push(&mut out, character);
    }
    out.push('"');
    out
}

/// A text of several lines in which only line ends and tabulators move the cursor: every other invisible character is
/// written as `\u{…}`, except that an odd space is a plain one, and that emojis keep what they are made with. A carriage return that a line ends with is a part of its end, and left out. Backslashes stay as they are, so a
/// text that went through here once goes through here unchanged.
///
/// ```
/// use switchboard_agent::visible;
///
/// assert_eq!(visible::text("21\u{a0}°C\n\u{1b}[2J\u{200b}"), "21 °C\n\\u{1b}[2J\\u{200b}");
/// ```
#[must_use]
pub fn text(text: &str) -> String {
    text_after(' ', text)
}

/// Like [`text()`], for a piece that comes behind this character.
#[must_use]
pub fn text_after(mut before: char, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => out.push(character),
            '\r' if matches!(characters.peek(), None | Some('\n')) => {}
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => out.push(' '),
            mark if makes_emoji(mark, before, characters.peek().copied()) => out.push(mark),
            other if is_invisible(other) => push(&mut out, other),
            other => out.push(other),
        }
        // What is shown as an escape ends like one.
        before = out.chars().next_back().unwrap_or(before);
    }
    out
}

/// Whether a character that cannot be seen is a part of an emoji. In a word it would hide.
fn makes_emoji(character: char, before: char, next: Option<char>) -> bool {
    match character {
        EMOJI_MARK if next == Some(KEYCAP) => matches!(before, '0'..='9' | '#' | '*'),
        EMOJI_MARK | TEXT_MARK => is_pictograph(before),
        JOINER => (before == EMOJI_MARK || is_pictograph(before)) && next.is_some_and(is_pictograph),
        _ => false,
    }
}

fn is_pictograph(character: char) -> bool {
    matches!(character,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// One line of JSON, still the same JSON, with invisible characters as `\uXXXX`.
#[must_use]
pub fn json_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|character| push_json(&mut out, character));
    out
}

/// Like [`line()`], in quotation marks if it begins or ends with a space, which nobody would see, or if it is empty.
#[must_use]
pub fn name(text: &str) -> String {
    let shown = line(text);
    if text.is_empty() || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{shown}\"")
    } else {
        shown
    }
}

/// Like [`line()`], cut to `chars` characters with a mark that says so.
#[must_use]
pub fn short(text: &str, chars: usize) -> String {
    let mut out = String::new();
    for (index, character) in text.chars().take(chars).enumerate() {
        // What is visible of a character can be wider than the character.
        if index + 1 == chars && text.chars().nth(chars).is_some() {
            out.push('…');
            break;
        }
        push(&mut out, character);
    }
    out
}

/// The text as one word of a command line, to be copied into a shell.
///
/// ```
/// use switchboard_agent::visible;
///
/// assert_eq!(visible::argument("city/get_weather"), "city/get_weather");
/// assert_eq!(visible::argument("evil/a; b's"), r"'evil/a; b'\''s'");
/// ```
#[must_use]
pub fn argument(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./:@%+=,".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let shown: String =
        text.chars().map(|character| if is_invisible(character) { '\u{fffd}' } else { character }).collect();
    format!("'{}'", shown.replace('\'', r"'\''"))
}

/// The text with spaces behind it up to `chars` characters. `format!` cannot do this for any width.
#[must_use]
pub fn padded(text: &str, chars: usize) -> String {
    let missing = chars.saturating_sub(text.chars().count());
    let mut out = String::with_capacity(text.len() + missing);
    out.push_str(text);
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

/// The first `bytes` bytes of a text, or fewer where a character would be torn.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or_default()]
}

fn push(out: &mut String, character: char) {
    if character == '\\' {
        out.push_str("\\\\");
    } else if is_invisible(character) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// A JSON text laid out for reading, nothing left out: it still is JSON and still says the same. Invisible
/// characters inside strings become `\uXXXX`.
///
/// The order of members and the spelling of numbers stay as they came.
#[must_use]
pub fn json(raw: &RawValue) -> String {
    let mut out = String::new();
    layout(raw.get(), &mut out);
    out
}

/// Lays out one pass over the text. The text is valid JSON, so brackets outside of strings match.
fn layout(text: &str, out: &mut String) {
    let mut depth = 0_usize;
    let mut characters = text.chars().peekable();
    let mut in_string = false;
    while let Some(character) = characters.next() {
        if in_string {
            push_json(out, character);
            if character == '\\' {
                // The escaped character is part of the escape, a quotation mark too.
                if let Some(next) = characters.next() {
                    push_json(out, next);
                }
            }
            in_string = character != '"';
            continue;
        }
        match character {
            '"' => {
                in_string = true;
                out.push('"');
            }
            '{' | '[' => {
                out.push(character);
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                if let Some(close) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    newline(out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                newline(out, depth);
                out.push(character);
            }
            ',' => {
                out.push(',');
                newline(out, depth);
            }
            ':' => out.push_str(": "),
            other if other.is_ascii_whitespace() => {}
            other => out.push(other),
        }
    }
}

fn newline(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn push_json(out: &mut String, character: char) {
    if is_invisible(character) {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    } else {
        out.push(character);
    }
}

/// Whether two JSON texts say the same, whatever their layout and the order of their members.
#[cfg(test)]
pub(crate) fn same_json(left: &str, right: &str) -> bool {
    let parse = |text: &str| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = <serde_json::Value as serde::Deserialize>::deserialize(&mut deserializer).ok()?;
        deserializer.end().ok()?;
        Some(value)
    };
    matches!((parse(left), parse(right)), (Some(left), Some(right)) if left == right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_json(text: &str, expected: &str) {
        let raw = RawValue::from_string(text.to_owned()).unwrap();
        let shown = json(&raw);
        assert_eq!(shown, expected);
        assert!(same_json(text, &shown), "what is shown must say the same as what is sent");
    }

    #[test]
    fn json_is_laid_out_whole_and_in_its_own_order() {
        check_json("{}", "{}");
        check_json("{ }", "{}");
        check_json(
            r#"{"b":[1,2.50,{"c":[]}],"a":"x"}"#,
            "{\n  \"b\": [\n    1,\n    2.50,\n    {\n      \"c\": []\n    }\n  ],\n  \"a\": \"x\"\n}",
        );
        check_json(r#"{"a":"q\"}]{,:"}"#, "{\n  \"a\": \"q\\\"}]{,:\"\n}");
    }

    #[test]
    fn hidden_characters_are_shown_inside_json() {
        check_json("{\"a\":\"x\u{202e}gpj.exe\"}", "{\n  \"a\": \"x\\u202egpj.exe\"\n}");
        check_json("{\"\u{200b}a\":\"\u{e0041}\"}", "{\n  \"\\u200ba\": \"\\udb40\\udc41\"\n}");
        check_json("{\"a\":\"é 漢 🙂\"}", "{\n  \"a\": \"é 漢 🙂\"\n}");
    }

    #[test]
    fn hidden_characters_are_shown_in_plain_text() {
        assert_eq!(line("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(line("\\u{1b}"), "\\\\u{1b}");
        assert_eq!(quoted("abc\n", 3), "\"abc…\"");
    }

    #[test]
    fn a_text_keeps_its_lines_and_hides_nothing() {
        for (said, shown) in [
            ("a\n\tb", "a\n\tb"),
            ("a\n", "a\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\r", "a"),
            ("10 %\r20 %", "10 %\\u{d}20 %"),
            ("a\r\rb\u{c}c\u{b}", "a\\u{d}\\u{d}b\\u{c}c\\u{b}"),
            ("\u{1b}]0;x\u{7}\u{9b}2J\u{8}", "\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{8}"),
            ("\u{202e}\u{2066}\u{61c}", "\\u{202e}\\u{2066}\\u{61c}"),
            ("a\u{200b}b\u{e0041}", "a\\u{200b}b\\u{e0041}"),
            ("☀\u{fe0f}", "☀\u{fe0f}"),
            ("☀\u{fe0f}\u{fe0f}", "☀\u{fe0f}\\u{fe0f}"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
            ("é\u{fe0f}\u{fe0e}", "é\\u{fe0f}\\u{fe0e}"),
            ("⚠\u{fe0e} 1\u{fe0f}\u{20e3} 1\u{fe0f}", "⚠\u{fe0e} 1\u{fe0f}\u{20e3} 1\\u{fe0f}"),
            ("👩\u{200d}💻 👁\u{fe0f}\u{200d}🗨", "👩\u{200d}💻 👁\u{fe0f}\u{200d}🗨"),
            ("a\u{200d}b 👩\u{200d}b a\u{200d}💻", "a\\u{200d}b 👩\\u{200d}b a\\u{200d}💻"),
            ("a\u{fe0f}\u{200d}💻", "a\\u{fe0f}\\u{200d}💻"),
            ("21.2\u{202f}°C", "21.2 °C"),
            ("\\d", "\\d"),
        ] {
            assert_eq!(text(said), shown, "{said:?}");
            assert_eq!(text(&text(said)), shown, "{said:?} twice");
        }
    }

    #[test]
    fn a_piece_goes_on_with_the_emoji_of_the_one_before() {
        for (before, piece, shown) in [
            ('⚠', "\u{fe0f} hot", "\u{fe0f} hot"),
            ('a', "\u{fe0f}", "\\u{fe0f}"),
            ('👩', "\u{200d}💻", "\u{200d}💻"),
        ] {
            assert_eq!(text_after(before, piece), shown);
        }
    }

    #[test]
    fn names_that_differ_look_different() {
        for (given, shown) in
            [("t", "t"), ("t ", "\"t \""), (" t", "\" t\""), ("", "\"\""), ("t\n", "t\\u{a}")]
        {
            assert_eq!(name(given), shown);
        }
    }

    #[test]
    fn columns_of_any_width_are_filled() {
        assert_eq!(padded("é", 3), "é  ");
        assert_eq!(padded("", 70_000).len(), 70_000);
        assert_eq!((short("abc", 3), short("abcd", 3)), ("abc".to_owned(), "ab…".to_owned()));
    }
}
