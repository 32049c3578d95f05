//! One rule: what to do with the tools that a pattern matches.

use std::fmt;
use std::str::FromStr;

use crate::exposure::Exposure;
use crate::name::ServerName;
use crate::visible;

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Make it.
    Allow,
    /// Ask the person.
    Ask,
    /// Do not make it.
    Deny,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

/// A rule, written `ACTION SERVER/TOOL`. In both names `*` stands for any text and `?` for one character;
/// `SERVER` alone means all of its tools.
///
/// ```
/// use switchboard_agent::policy::{Action, Rule};
///
/// let rule: Rule = "deny */delete_*".parse()?;
/// assert_eq!(rule.action(), Action::Deny);
/// assert_eq!(Rule::new(Action::Allow, "station")?.to_string(), "allow station/*");
/// # Ok::<(), switchboard_agent::policy::InvalidRule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    action: Action,
    server: String,
    tool: String,
}

/// A text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{rule} is no rule: {problem}; write it as `allow SERVER/TOOL`, `ask SERVER/TOOL` or `deny SERVER/TOOL`"
)]
pub struct InvalidRule {
    rule: String,
    problem: &'static str,
}

/// A rule that matches no known tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` matches no tool; correct or remove it. The tools are: {known}")]
pub struct UnmatchedRule {
    rule: String,
    known: String,
}

/// Tools named at most in an error.
const NAMED: usize = 12;

impl UnmatchedRule {
    pub(super) fn new(rule: &Rule, exposure: &Exposure) -> Self {
        let tools = exposure.tools();
        let mut known: Vec<String> = tools
            .iter()
            .take(NAMED)
            .map(|tool| format!("{}/{}", tool.server(), visible::line(&tool.tool().name)))
            .collect();
        if tools.is_empty() {
            known.push("none".to_owned());
        } else if tools.len() > NAMED {
            known.push(format!("and {} more", tools.len() - NAMED));
        }
        Self { rule: rule.to_string(), known: known.join(", ") }
    }
}

impl Rule {
    /// A rule for the tools that `pattern` matches: `SERVER/TOOL` or `SERVER`.
    ///
    /// # Errors
    /// When a part of the pattern is empty.
    pub fn new(action: Action, pattern: &str) -> Result<Self, InvalidRule> {
        let (server, tool) = pattern.split_once('/').unwrap_or((pattern, "*"));
        if server.is_empty() || tool.is_empty() {
            let rule = visible::quoted(pattern, 200);
            return Err(InvalidRule { rule, problem: "it lacks the server or the tool" });
        }
        Ok(Self { action, server: server.to_owned(), tool: tool.to_owned() })
    }

    /// What it does.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    pub(super) fn matches(&self, server: &ServerName, tool: &str) -> bool {
        self.matches_server(server) && glob(&self.tool, tool)
    }

    pub(super) fn matches_server(&self, server: &ServerName) -> bool {
        glob(&self.server, server.as_str())
    }

    /// The rule with the highest wins: first the more specific about the tool, then about the server, then the
    /// stricter.
    pub(super) fn precedence(&self) -> (usize, usize, Action) {
        (specificity(&self.tool), specificity(&self.server), self.action)
    }
}

impl FromStr for Rule {
    type Err = InvalidRule;

    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let invalid = |problem| InvalidRule { rule: visible::quoted(text, 200), problem };
        let (action, pattern) =
            text.trim().split_once(char::is_whitespace).ok_or_else(|| invalid("it lacks the pattern"))?;
        let action = match action {
            "allow" => Action::Allow,
            "ask" => Action::Ask,
            "deny" => Action::Deny,
            _ => return Err(invalid("it does not begin with an action")),
        };
        Self::new(action, pattern.trim())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.action, self.server, self.tool)
    }
}

/// Characters that stand for themselves; a pattern without `*` and `?` beats every one with them.
fn specificity(pattern: &str) -> usize {
    let literal = pattern.chars().filter(|character| !matches!(character, '*' | '?')).count();
    if pattern.contains(['*', '?']) { literal } else { literal + 1_000_000 }
}

/// Whether the whole text fits the pattern. Takes at most pattern × text steps, whatever the pattern.
fn glob(pattern: &str, text: &str) -> bool {
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
    use super::glob;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, matches) in [
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
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }
}
