//! Whether a text is the name of one path, and nothing that some server may read as another.
//!
//! Decoders, globs, shells and normalisers stand in front of many a server's file system. A text that one of them
//! would change is no sure path, whatever exists: an escape (`%2e`), a control or invisible character, `*`, `?`, `$`,
//! a backslash, a character that normalises to a dot or a slash. Brackets and braces are common in names of source
//! files, so they are read literally, but only where such a path exists as it is written and does not climb; see
//! [`is_bracketed`]. Spaces within a name, letters of any language, `&`, `'`, `(`, `,`, `:`, `#` and a lone `%` that
//! begins no escape are a plain name.

use crate::visible;

/// What globs, shells and other systems read as something else than itself, but for brackets.
const SPECIAL: &str = "*?$`\\|<>;";

/// Brackets and braces, which globs and shells read too.
const BRACKETS: &str = "[]{}";

/// Escapes of dots, slashes, brackets, and of what begins an escape.
const ESCAPES: [&str; 8] = ["%2e", "%2f", "%5c", "%25", "%5b", "%5d", "%7b", "%7d"];

/// What some normalisation, or the nearest fit of an older encoding, makes a dot, a slash, a backslash or one of
/// [`SPECIAL`], besides the full width forms; and what looks like a slash.
const LIKE_SPECIAL: &str = "\u{2024}\u{2025}\u{2026}\u{fe19}\u{fe30}\u{fe52}\
    \u{2044}\u{2215}\u{29f8}\u{2100}\u{2101}\u{2105}\u{2106}\
    \u{2216}\u{29f5}\u{29f9}\u{fe68}\u{a5}\u{20a9}\
    \u{fe54}\u{fe56}\u{fe5b}\u{fe5c}\u{fe61}\u{fe64}\u{fe65}\u{fe69}\u{fe6a}";

/// Whether every reader takes the text for the same parts of a path. Its beginning (`~`, `file:`) is not looked at.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains(is_odd)
        && !has_escape(text)
        && text.trim() == text
        && text.split(std::path::is_separator).all(is_plain_part)
}

/// The same of an address, in which escapes are in their place. The ones that change where it leads are not.
pub(super) fn is_plain_address(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    !text.contains(is_odd) && !ESCAPES.iter().any(|escape| small.contains(escape))
}

/// Whether it has brackets or braces, which make it a glob for some.
pub(super) fn is_bracketed(text: &str) -> bool {
    text.contains(|character| BRACKETS.contains(character))
}

fn is_odd(character: char) -> bool {
    character.is_control()
        || visible::is_invisible(character)
        || (SPECIAL.contains(character) && !std::path::is_separator(character))
        || LIKE_SPECIAL.contains(character)
        || narrow(character).is_some_and(|narrow| {
            "./~%".contains(narrow) || SPECIAL.contains(narrow) || BRACKETS.contains(narrow)
        })
}

/// The character that a full width form stands for.
fn narrow(character: char) -> Option<char> {
    let is_wide = ('\u{ff01}'..='\u{ff5e}').contains(&character);
    is_wide.then(|| char::from_u32(u32::from(character) - 0xfee0)).flatten()
}

/// `%2e`, `%u002e`, or `%NAME%`.
fn has_escape(text: &str) -> bool {
    let mut after = text.split('%').skip(1);
    let Some(first) = after.next() else { return false };
    let is_hex = first.len() >= 2 && first.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    is_hex || first.starts_with(['u', 'U']) || after.next().is_some()
}

/// No `.. ` and no `...`, which are `..` where spaces or dots at the end do not count, and nothing such as `{a,b}` or
/// `{a..b}`, which is several.
fn is_plain_part(part: &str) -> bool {
    let is_dots = part.contains('.') && part.chars().all(|character| character == '.' || character == ' ');
    let is_several = part.contains(['{', '}']) && (part.contains(',') || part.contains(".."));
    (!is_dots || part == "." || part == "..") && !is_several
}
