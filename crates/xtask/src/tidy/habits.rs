//! Habits: no unfinished code, no test that is ignored or sleeps, no shape-guessing in the model without a reason.
//!
//! The rules read tokens, so a word in a comment or a string is not found, and one inside a macro call is.

use super::syntax::{Source, Token};
use crate::finding::Finding;

/// The model of the protocol, where a union without a tag needs the specification behind it.
const MODEL: &str = "crates/protocol/src/";

pub(super) fn check(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in 0..source.tokens.len() {
        let rest = &source.tokens[at..];
        let line = source.tokens[at].line;
        let before = at.checked_sub(1).map_or("", |before| source.tokens[before].text.as_str());
        if let Some((rule, what)) = unfinished(rest).or_else(|| sleeping(source, before, rest)) {
            findings.push(Finding::new(&source.file.path, line, rule, what));
        } else if let Some(word) = guessing(source, rest) {
            let what = format!(
                "`serde({word})` needs a comment directly above that names the specification's reason"
            );
            findings.push(Finding::new(&source.file.path, line, "tagless", what));
        }
    }
    findings
}

fn unfinished(rest: &[Token]) -> Option<(&'static str, &'static str)> {
    if starts(rest, &["#", "[", "ignore"]) {
        Some(("ignored-test", "an ignored test tests nothing; make it pass or delete it"))
    } else if starts(rest, &["todo", "!"]) || starts(rest, &["unimplemented", "!"]) {
        Some(("unfinished", "finish it, or return an error that says what is missing"))
    } else {
        None
    }
}

/// A call of any function named `sleep` in test code; `before` tells a call from a definition or a method.
fn sleeping(source: &Source<'_>, before: &str, rest: &[Token]) -> Option<(&'static str, &'static str)> {
    let call = starts(rest, &["sleep", "("]) && !["fn", "."].contains(&before);
    (call && source.is_test(rest[0].line))
        .then_some(("sleeping-test", "wait for an event, or pause the clock and advance it"))
}

/// The word of `serde(… untagged …)` or `serde(… flatten …)` in the model, if no comment stands above it.
fn guessing(source: &Source<'_>, rest: &[Token]) -> Option<&'static str> {
    if !source.file.path.starts_with(MODEL) || !starts(rest, &["serde", "("]) || source.is_test(rest[0].line)
    {
        return None;
    }
    let mut depth = 0_usize;
    let arguments = rest[1..].iter().take_while(|token| {
        depth = match token.text.as_str() {
            "(" => depth + 1,
            ")" => depth.saturating_sub(1),
            _ => depth,
        };
        depth > 0
    });
    let word = arguments
        .filter_map(|token| ["untagged", "flatten"].into_iter().find(|word| token.text == *word))
        .next()?;
    (!commented(&source.file.text, rest[0].line)).then_some(word)
}

/// Whether a comment stands directly above the line; other attributes may stand between.
fn commented(text: &str, line: usize) -> bool {
    let above: Vec<_> = text.lines().take(line.saturating_sub(1)).map(str::trim_start).collect();
    above.iter().rev().find(|line| !line.starts_with("#[")).is_some_and(|line| line.starts_with("//"))
}

fn starts(tokens: &[Token], words: &[&str]) -> bool {
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| token.text == *word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::TextFile;

    /// Checks that exactly this rule is broken, or none.
    fn check_text(path: &str, text: &str, expected: Option<&str>) {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        let found: Vec<_> =
            check(&Source::parse(&file).unwrap()).iter().map(|finding| finding.rule).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{path}: {text}");
    }

    #[test]
    fn unfinished_code_is_found_anywhere() {
        check_text("a.rs", "fn f() { todo!() }", Some("unfinished"));
        check_text("a.rs", "fn f() { select! { _ = g() => unimplemented!(\"x\") } }", Some("unfinished"));
        check_text("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}", Some("ignored-test"));
        check_text("a.rs", "// todo!()\nfn f() { g(\"todo!()\") }", None);
    }

    #[test]
    fn sleeping_is_found_in_tests_only() {
        let test = "#[cfg(test)]\nmod tests { async fn f() { CALL; } }";
        for call in ["tokio::time::sleep(d).await", "std::thread::sleep(d)", "sleep(d)", "select!(sleep(d))"]
        {
            check_text("a.rs", &test.replace("CALL", call), Some("sleeping-test"));
            check_text(
                "a/tests.rs",
                &format!("fn f() {{ {} }}", call.replace(".await", "")),
                Some("sleeping-test"),
            );
            check_text("a.rs", &format!("fn f() {{ {} }}", call.replace(".await", "")), None);
        }
        check_text("a/tests.rs", "fn sleep() { bed.sleep() }", None);
    }

    #[test]
    fn a_tagless_union_in_the_model_needs_a_reason_above_it() {
        let model = "crates/protocol/src/model.rs";
        check_text(model, "#[serde(untagged)]\nenum A {}", Some("tagless"));
        check_text(
            model,
            "struct A {\n    b: u8,\n    #[serde(default, flatten)]\n    c: C,\n}",
            Some("tagless"),
        );
        check_text(model, "// The specification has no tag here.\n#[serde(untagged)]\nenum A {}", None);
        check_text(model, "// No tag.\n#[derive(Debug)]\n#[serde(untagged)]\nenum A {}", None);
        check_text(model, "#[serde(rename = \"flatten\")]\nstruct A;", None);
        check_text("crates/llm/src/wire.rs", "#[serde(untagged)]\nenum A {}", None);
    }
}
