//! Text that a peer wrote, fit for a terminal: what shows nothing, or changes how its neighbours show, is
//! written out as `\u{…}`. Only what is shown changes; what an error keeps as data stays as it came.

use std::fmt::Write as _;

use switchboard_protocol::visible::is_invisible;

/// Appends a character as it may be shown.
pub(crate) fn push(out: &mut String, character: char) {
    match character {
        '\n' | '\r' | '\t' => out.push(' '),
        hidden if is_invisible(hidden) => {
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
