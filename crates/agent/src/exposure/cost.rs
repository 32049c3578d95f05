//! What a tool costs in every request, in tokens, about.
//!
//! No provider publishes a tokenizer for all its models, so this is an estimate: runs of letters cost a token for
//! each six, of digits and of punctuation marks one for each three, and every other character one. On JSON
//! schemas in English this comes within about a fifth of what common tokenizers count, and it errs upwards.

use switchboard_llm::ToolDefinition;

/// What a request adds around each tool.
const AROUND: usize = 8;

/// About how many tokens a definition costs.
pub(super) fn tokens(definition: &ToolDefinition) -> usize {
    AROUND
        + of_text(&definition.name)
        + of_text(&definition.description)
        + of_text(definition.parameters.get())
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Digit,
    Mark,
    Space,
    Other,
}

fn of_text(text: &str) -> usize {
    let mut sum = 0;
    let mut run = (Kind::Space, 0usize);
    for character in text.chars() {
        let kind = match character {
            'a'..='z' | 'A'..='Z' => Kind::Letter,
            '0'..='9' => Kind::Digit,
            _ if character.is_ascii_whitespace() => Kind::Space,
            _ if character.is_ascii() => Kind::Mark,
            _ => Kind::Other,
        };
        if kind == run.0 {
            run.1 += 1;
        } else {
            sum += of_run(run);
            run = (kind, 1);
        }
    }
    sum + of_run(run)
}

fn of_run((kind, length): (Kind, usize)) -> usize {
    match kind {
        Kind::Letter => length.div_ceil(6),
        Kind::Digit => length.div_ceil(3),
        Kind::Mark => length.div_ceil(3),
        // A space belongs to the word after it.
        Kind::Space => length.saturating_sub(1).div_ceil(4),
        Kind::Other => length,
    }
}

#[cfg(test)]
mod tests {
    use super::of_text;

    /// Counts of a tokenizer with a vocabulary of 100 000, by hand.
    #[test]
    fn an_estimate_is_near_what_tokenizers_count() {
        for (text, counted) in [
            ("", 0),
            ("hello world", 2),
            ("The current weather at a place, with units.", 10),
            (r#"{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]}"#, 20),
            ("漢字漢字", 4),
        ] {
            let estimate = of_text(text);
            assert!(estimate.abs_diff(counted) <= 2 + counted / 4, "{text}: {estimate} instead of {counted}");
        }
    }
}
