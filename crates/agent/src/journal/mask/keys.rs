//! Texts that look like a key: known kinds of keys, and the word after `Bearer`, if it looks like a token.

use super::MASK;

/// Beginnings of well-known keys. The rest of the word is masked.
const KEY_PREFIXES: &[&str] =
    &["sk-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ"];

/// The fewest characters after a prefix that make it a key.
const SHORTEST_KEY_REST: usize = 12;

/// No word of a language that people write in is so long: it is a token, whatever it consists of.
const LONGEST_WORD: usize = 20;

/// The fewest characters of a token with digits or with capitals in its middle. Shorter ones are numbers and names.
const SHORTEST_TOKEN: usize = 6;

/// Masks words that look like keys, and the token after `Bearer`.
pub(super) fn mask(text: &mut String) {
    let names_bearer = text.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"bearer"));
    if !names_bearer && !KEY_PREFIXES.iter().any(|prefix| text.contains(prefix)) {
        return;
    }
    let is_word = |character: char| character.is_ascii_alphanumeric() || "-_.~+/=".contains(character);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let (mut before, mut last) = ("", "");
    while !rest.is_empty() {
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let key = KEY_PREFIXES
            .iter()
            .find(|prefix| word.strip_prefix(**prefix).is_some_and(|tail| tail.len() >= SHORTEST_KEY_REST));
        let is_token = last.eq_ignore_ascii_case("bearer")
            && (before.eq_ignore_ascii_case("authorization") || is_token(word));
        match key {
            _ if is_token && !word.is_empty() => out.push_str(MASK),
            Some(prefix) => {
                out.push_str(prefix);
                out.push_str(MASK);
            }
            None => out.push_str(word),
        }
        if !word.is_empty() {
            (before, last) = (last, word);
        }
        let gap = after.find(is_word).unwrap_or(after.len());
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    *text = out;
}

/// Whether a word is more likely a token than a word that somebody wrote about tokens.
fn is_token(word: &str) -> bool {
    let word = word.trim_matches(['.', '=', '-']);
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let is_mixed = word.chars().skip(1).any(|character| character.is_ascii_uppercase())
        && has(|character| character.is_ascii_lowercase());
    let is_odd = has(|character| character.is_ascii_digit()) || is_mixed || word.contains('.');
    word.len() >= LONGEST_WORD || (word.len() >= SHORTEST_TOKEN && is_odd)
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn tokens_are_masked_and_words_about_tokens_are_not() {
        for plain in [
            "give them as a bearer or a header, such as --bearer-env NAME=VARIABLE",
            "it wants a bearer token",
            "a bearer token. Then try again",
            "the scheme is Bearer, which it does not know",
            "bearer rm -rf ~",
            "bearer and/or basic",
            "bearer OAuth 2.1",
            "bearer: see RFC 6750",
            "Bearer realm=\"x\", error=\"invalid_token\"",
            "bearer",
            "sk-short eye",
        ] {
            let mut text = plain.to_owned();
            mask(&mut text);
            assert_eq!(text, plain);
        }
        for (text, masked) in [
            ("Authorization: Bearer abc.def, and more", "Authorization: Bearer ***, and more"),
            ("AUTHORIZATION: BEARER\tabc.def", "AUTHORIZATION: BEARER\t***"),
            ("Authorization: Bearer secret", "Authorization: Bearer ***"),
            ("bearer hunter2, bearer Ab3dEf==", "bearer ***, bearer ***"),
            ("Bearer aGVsbG8td29ybGQ", "Bearer ***"),
            ("Bearer correcthorsebatterystaple", "Bearer ***"),
            ("Bearer sk-0123456789abcdef", "Bearer ***"),
            ("key sk-0123456789abcdef", "key sk-***"),
        ] {
            let mut text = text.to_owned();
            mask(&mut text);
            assert_eq!(text, masked);
        }
    }
}
