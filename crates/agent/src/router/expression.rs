//! Finds an arithmetic expression in a question, such as `2 + 3 * 4` or `sqrt(16)`.
//!
//! It recognises and copies; it computes nothing.

/// Functions that an expression may hold.
const FUNCTIONS: &[&str] = &[
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sqrt", "cbrt", "ln", "log", "log2",
    "log10", "exp", "abs", "floor", "ceil", "round", "min", "max", "pow",
];

const CONSTANTS: &[&str] = &["pi", "tau", "e"];

/// Operators written as words, with a space at each end.
const SPELLED: &[(&str, &str)] = &[
    (" plus ", " + "),
    (" minus ", " - "),
    (" times ", " * "),
    (" multiplied by ", " * "),
    (" divided by ", " / "),
    (" over ", " / "),
    (" to the power of ", " ^ "),
    (" modulo ", " % "),
    (" mod ", " % "),
    ("square root of ", "sqrt of "),
    ("the sqrt of ", "sqrt of "),
];

/// An expression and the text that it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) expression: String,
    /// The question with the expression cut out.
    pub(super) rest: String,
}

/// The longest expression in a question.
pub(super) fn find(question: &str) -> Option<Found> {
    let text = spell_out(question);
    let tokens = tokens(&text);
    let mut best: Option<(usize, usize)> = None;
    for start in 0..tokens.len() {
        let end = longest(&tokens[start..]);
        if end > 0 && best.is_none_or(|(from, to)| end > to - from) {
            best = Some((start, start + end));
        }
    }
    let (from, to) = best?;
    let (begin, end) = (tokens[from].at, tokens[to - 1].at + tokens[to - 1].text.len());
    let expression = text[begin..end].split_whitespace().collect::<Vec<_>>().join(" ");
    if is_date(&expression) {
        return None;
    }
    Some(Found { expression, rest: format!("{} {}", &text[..begin], &text[end..]) })
}

/// Operators as signs, and `sqrt of 16` as `sqrt(16)`.
fn spell_out(question: &str) -> String {
    let mut text = question.replace(['×', '·'], "*").replace('÷', "/").replace('−', "-");
    for (words, sign) in SPELLED {
        text = replace_ignoring_case(&text, words, sign);
    }
    while let Some(at) = text.find("sqrt of ") {
        let number_at = at + "sqrt of ".len();
        let digits =
            text[number_at..].find(|character: char| !character.is_ascii_digit() && character != '.');
        let end = digits.map_or(text.len(), |length| number_at + length);
        text = format!("{}sqrt({}){}", &text[..at], &text[number_at..end], &text[end..]);
    }
    text
}

fn replace_ignoring_case(text: &str, from: &str, to: &str) -> String {
    // Only ASCII letters change case here, so that positions stay the same.
    let lower = text.to_ascii_lowercase();
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(at) = lower[done..].find(from).map(|at| at + done) {
        out.push_str(&text[done..at]);
        out.push_str(to);
        done = at + from.len();
    }
    out.push_str(&text[done..]);
    out
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Constant,
    Function,
    Operator,
    Open,
    Close,
    Comma,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    at: usize,
    text: &'a str,
    kind: Kind,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let run = |accept: fn(char) -> bool| rest.find(|next| !accept(next)).unwrap_or(rest.len());
        let (length, kind) = if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()))
        {
            let length = run(|next| next.is_ascii_digit() || next == '.');
            // A point at the end is the end of a sentence.
            (rest[..length].trim_end_matches('.').len().max(1), Kind::Number)
        } else if first.is_alphabetic() {
            let length = run(char::is_alphanumeric);
            let word = rest[..length].to_lowercase();
            let kind = if FUNCTIONS.contains(&word.as_str()) {
                Kind::Function
            } else if CONSTANTS.contains(&word.as_str()) {
                Kind::Constant
            } else {
                Kind::Other
            };
            (length, kind)
        } else {
            let kind = match first {
                '+' | '-' | '*' | '/' | '^' | '%' => Kind::Operator,
                '(' => Kind::Open,
                ')' => Kind::Close,
                ',' => Kind::Comma,
                _ => Kind::Other,
            };
            (first.len_utf8(), kind)
        };
        tokens.push(Token { at, text: &rest[..length], kind });
        rest = &rest[length..];
    }
    tokens
}

/// How many tokens from the start make a whole expression that computes something; 0 if none do.
fn longest(tokens: &[Token<'_>]) -> usize {
    let (mut whole, mut depth) = (0, 0_usize);
    let (mut wants_value, mut computes, mut has_number) = (true, false, false);
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Number | Kind::Constant if wants_value => {
                wants_value = false;
                has_number = true;
            }
            Kind::Function
                if wants_value && tokens.get(index + 1).is_some_and(|next| next.kind == Kind::Open) =>
            {
                computes = true;
            }
            Kind::Open if wants_value => depth += 1,
            Kind::Close if !wants_value && depth > 0 => depth -= 1,
            Kind::Comma if !wants_value && depth > 0 => wants_value = true,
            Kind::Operator if !wants_value => {
                computes = true;
                wants_value = true;
            }
            // A sign. It computes nothing by itself.
            Kind::Operator if matches!(token.text, "-" | "+") && tokens.get(index + 1).is_some() => {}
            _ => break,
        }
        if !wants_value && depth == 0 && computes && has_number {
            whole = index + 1;
        }
    }
    whole
}

fn is_date(expression: &str) -> bool {
    let parts: Vec<&str> = expression.split('-').collect();
    matches!(parts[..], [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2)
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn expressions_are_found_as_they_stand() {
        for (question, expected) in [
            ("What is 2 + 3 * 4?", Some("2 + 3 * 4")),
            ("What is 2 + 3 * 4.", Some("2 + 3 * 4")),
            ("how much is (1+2)*3, please", Some("(1+2)*3")),
            ("sin(30) in degrees", Some("sin(30)")),
            ("What is the square root of 16?", Some("sqrt(16)")),
            ("what is 7 times 6", Some("7 * 6")),
            ("-2 ^ 2 and more", Some("-2 ^ 2")),
            ("max(1, 2.5) - pi", Some("max(1, 2.5) - pi")),
            ("12 ÷ 4", Some("12 / 4")),
            ("What happened on 2026-07-28?", None),
            ("Tell me a joke", None),
            ("I have 3 apples", None),
            ("e-mail", None),
            ("2 +", None),
            ("(2 + 3", Some("2 + 3")),
            ("sin", None),
            ("", None),
        ] {
            assert_eq!(find(question).map(|found| found.expression).as_deref(), expected, "{question}");
        }
    }
}
