//! Text that a peer wrote, fit for a terminal: what shows nothing, or changes how its neighbours show, is
//! written out as `\u{…}`. Only what is shown changes; what an error keeps as data stays as it came.

use std::fmt::Write as _;

/// Ranges beyond the control characters: joiners, fillers, odd spaces, line separators, bidirectional and
/// format controls, variation selectors, private use, tags.
const HIDDEN: &[(u32, u32)] = &[
    (0x00, 0x1f),
    (0x7f, 0xa0),
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x600, 0x605),
    (0x61c, 0x61c),
    (0x6dd, 0x6dd),
    (0x70f, 0x70f),
    (0x890, 0x891),
    (0x8e2, 0x8e2),
    (0x115f, 0x1160),
    (0x1680, 0x1680),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x2000, 0x200f),
    (0x2028, 0x202f),
    (0x205f, 0x206f),
    (0x2800, 0x2800),
    (0x3000, 0x3000),
    (0x3164, 0x3164),
    (0xe000, 0xf8ff),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xffff),
    (0x110bd, 0x110bd),
    (0x110cd, 0x110cd),
    (0x13430, 0x1345f),
    (0x1bca0, 0x1bca3),
    (0x1d173, 0x1d17a),
    (0xe0000, 0x10_ffff),
];

fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    HIDDEN.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Appends a character as it may be shown.
pub(crate) fn push(out: &mut String, character: char) {
    match character {
        '\n' | '\r' | '\t' => out.push(' '),
        hidden if is_hidden(hidden) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(hidden));
        }
        shown => out.push(shown),
    }
}

#[cfg(test)]
mod tests {
    use super::push;

    #[test]
    fn what_shows_nothing_is_written_out() {
        for (text, expected) in [
            ("plain é 漢 🙂", "plain é 漢 🙂"),
            ("a\nb\tc", "a b c"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{202e}gpj", "x\\u{202e}gpj"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("\u{e0041}", "\\u{e0041}"),
        ] {
            let mut shown = String::new();
            text.chars().for_each(|character| push(&mut shown, character));
            assert_eq!(shown, expected);
        }
    }
}
