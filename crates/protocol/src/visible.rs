//! Which characters a peer can hide things with: those that show nothing, or change how others show.
//!
//! Client and host write them out before a person reads them; the table is here so that there is one.

/// Ranges of characters that show nothing, or that change how their neighbours show: format and bidirectional
/// controls, joiners, fillers, odd spaces, variation selectors, tags, private use, line separators.
const INVISIBLE: &[(u32, u32)] = &[
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

/// Whether a character shows nothing by itself. The plain space is not one of them.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    let code = u32::from(character);
    INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

#[cfg(test)]
mod tests {
    use super::is_invisible;

    #[test]
    fn what_shows_is_told_from_what_does_not() {
        for shown in ['a', ' ', 'é', '漢', '🙂', '│', '°'] {
            assert!(!is_invisible(shown), "{shown:?}");
        }
        for hidden in
            ['\0', '\u{1b}', '\u{9b}', '\u{a0}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{e0041}']
        {
            assert!(is_invisible(hidden), "{hidden:?}");
        }
    }
}
