//! Patterns of names: `*` stands for any text, `?` for one character.

/// Characters that stand for themselves; a pattern without `*` and `?` beats every one with them.
pub(super) fn specificity(pattern: &str) -> usize {
    let literal = pattern.chars().filter(|character| !matches!(character, '*' | '?')).count();
    if pattern.contains(['*', '?']) { literal } else { literal + 1_000_000 }
}

/// Whether the whole text fits the pattern. Takes at most pattern × text steps, whatever the pattern.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(expected) if *expected == '?' || *expected == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((star_at, star_seen)) = star else { return false };
                star = Some((star_at, star_seen + 1));
                at = star_at + 1;
                seen = star_seen + 1;
            }
        }
    }
    pattern[at..].iter().all(|character| *character == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("get_*", "get_climate", true),
            ("get_*", "forget_me", false),
            ("*_all", "delete_all", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-d", false),
            ("?", "é", true),
            ("?", "", false),
            ("name", "names", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
