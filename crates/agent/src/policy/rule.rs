//! One rule: what to do with the calls that it matches.
//!
//! Where to look next: `rule/text.rs` for the one-line form, `rule/form.rs` for the form in a configuration file,
//! `argument.rs` for what it may want of arguments, `policy.rs` for which of several rules decides.

mod form;
mod text;
mod unmatched;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_protocol::model::tool::{Tool, ToolAnnotations};

use self::form::RuleForm;
pub(super) use self::text::{value, word};
pub use self::unmatched::UnmatchedRule;
use super::argument::{ArgumentTest, Place};
use super::glob;
use crate::name::ServerName;
use crate::visible;

/// What to do with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// Whether somebody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// A person is there.
    Interactive,
    /// Nobody is there, or nobody wants to be asked.
    Headless,
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interactive => "interactive",
            Self::Headless => "headless",
        })
    }
}

/// What a server says that a tool does to the world, as a rule wants it to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// It changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Twice is like once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It deals with the outside world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl Hints {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The hints with their names, those that say something.
    fn said(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("read_only", self.read_only),
            ("destructive", self.destructive),
            ("idempotent", self.idempotent),
            ("open_world", self.open_world),
        ]
        .into_iter()
        .filter_map(|(name, hint)| hint.map(|hint| (name, hint)))
    }

    /// What a tool is, with what the specification says of one that says nothing.
    fn of(annotations: Option<&ToolAnnotations>) -> Self {
        let said = |hint: fn(&ToolAnnotations) -> Option<bool>, usual| {
            Some(annotations.and_then(hint).unwrap_or(usual))
        };
        let read_only = said(|hints| hints.read_only_hint, false);
        let reads = read_only == Some(true);
        Self {
            read_only,
            destructive: if reads { Some(false) } else { said(|hints| hints.destructive_hint, true) },
            idempotent: if reads { Some(true) } else { said(|hints| hints.idempotent_hint, false) },
            open_world: said(|hints| hints.open_world_hint, true),
        }
    }

    /// The first hint that is wanted and is not so.
    fn missed(&self, is: &Self) -> Option<&'static str> {
        let is: Vec<_> = is.said().collect();
        self.said().find(|wanted| !is.contains(wanted)).map(|(name, _)| name)
    }
}

/// A rule, written `ACTION SERVER/TOOL` and then what it wants of the call. In both names `*` stands for any text and
/// `?` for one character; `SERVER` alone means all of its tools.
///
/// ```
/// use switchboard_agent::policy::{Action, Rule};
///
/// let rule: Rule = "deny */delete_*".parse()?;
/// assert_eq!(rule.action(), Action::Deny);
/// assert_eq!(Rule::new(Action::Allow, "station")?.to_string(), "allow station/*");
/// let narrow: Rule = "allow files/write_* where path inside ~/docs and text max_bytes 10000 mode headless".parse()?;
/// assert_eq!(narrow.to_string().parse::<Rule>()?, narrow);
/// # Ok::<(), switchboard_agent::policy::InvalidRule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleForm", into = "RuleForm")]
pub struct Rule {
    action: Action,
    server: String,
    tool: String,
    annotations: Hints,
    arguments: Vec<ArgumentTest>,
    mode: Option<Presence>,
    principal: Option<String>,
    reason: Option<String>,
}

/// A text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{rule} is no rule: {problem}; write it as `allow SERVER/TOOL`, `ask SERVER/TOOL` or `deny SERVER/TOOL`, with \
     `where ARGUMENT inside FOLDER` behind it for some calls only"
)]
pub struct InvalidRule {
    rule: String,
    problem: String,
}

impl InvalidRule {
    fn new(rule: &str, problem: impl Into<String>) -> Self {
        Self { rule: visible::quoted(rule, 200), problem: problem.into() }
    }
}

/// What a rule is held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) server: &'a ServerName,
    pub(super) tool: &'a Tool,
    /// Whether the server is believed what it says about its tools.
    pub(super) trusted: bool,
    /// `None` for all calls of the tool, whatever their arguments.
    pub(super) arguments: Option<&'a Value>,
    pub(super) presence: Presence,
    pub(super) principal: Option<&'a str>,
    pub(super) place: Place<'a>,
}

/// Why a rule does not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mismatch {
    Name,
    Presence,
    Principal,
    Untrusted,
    Hint(&'static str),
    Argument(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str("it is about other tools"),
            Self::Presence => f.write_str("it is for another mode"),
            Self::Principal => f.write_str("it is for somebody else"),
            Self::Untrusted => f.write_str("it believes annotations, and the server is not trusted"),
            Self::Hint(name) => write!(f, "the tool's {name} is another"),
            Self::Argument(test) => write!(f, "`{test}` does not hold"),
        }
    }
}

impl Rule {
    /// A rule for the tools that `pattern` matches: `SERVER/TOOL` or `SERVER`, and what may follow that in a line.
    ///
    /// # Errors
    /// When a part of the pattern is empty, or what follows it cannot be read.
    pub fn new(action: Action, pattern: &str) -> Result<Self, InvalidRule> {
        text::parse(action, pattern)
    }

    /// A rule for all tools of a server, or of all servers that a pattern matches.
    pub(super) fn plain(action: Action, server: &str, tool: &str) -> Self {
        Self {
            action,
            server: server.to_owned(),
            tool: tool.to_owned(),
            annotations: Hints::default(),
            arguments: Vec::new(),
            mode: None,
            principal: None,
            reason: None,
        }
    }

    /// The same rule for those calls only for which this test holds, too.
    #[must_use]
    pub fn and(mut self, test: ArgumentTest) -> Self {
        self.arguments.push(test);
        self
    }

    /// What it does.
    #[must_use]
    pub fn action(&self) -> Action {
        self.action
    }

    /// What it wants of the arguments.
    #[must_use]
    pub fn arguments(&self) -> &[ArgumentTest] {
        &self.arguments
    }

    /// Why somebody wrote it.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether it is about this tool, in some call.
    #[must_use]
    pub fn names(&self, server: &ServerName, tool: &str) -> bool {
        self.names_server(server) && glob::matches(&self.tool, tool)
    }

    /// Whether it is about this server, whatever the tool.
    #[must_use]
    pub fn names_server(&self, server: &ServerName) -> bool {
        glob::matches(&self.server, server.as_str())
    }

    /// Which tools of a server it denies whatever the call is, as a pattern: they need not be offered.
    pub(crate) fn leaves_out(&self, server: &ServerName) -> Option<&str> {
        let whole = Self::plain(Action::Deny, &self.server, &self.tool);
        let is_whole = *self == Self { reason: self.reason.clone(), ..whole };
        (is_whole && self.names_server(server)).then_some(&*self.tool)
    }

    /// Whether it matches the call. What cannot be known counts against the call: a rule that allows does not match,
    /// a rule that asks or denies does.
    pub(super) fn judge(&self, case: &Case<'_>) -> Result<(), Mismatch> {
        if !self.names(case.server, &case.tool.name) {
            return Err(Mismatch::Name);
        }
        if self.mode.is_some_and(|mode| mode != case.presence) {
            return Err(Mismatch::Presence);
        }
        let allows = self.action == Action::Allow;
        if let Some(wanted) = &self.principal {
            let is_it = case.principal.map_or(!allows, |principal| glob::matches(wanted, principal));
            if !is_it {
                return Err(Mismatch::Principal);
            }
        }
        self.judge_hints(case)?;
        let Some(arguments) = case.arguments else { return Ok(()) };
        let fits = |test: &ArgumentTest| {
            if allows { test.surely(arguments, case.place) } else { test.maybe(arguments, case.place) }
        };
        self.arguments
            .iter()
            .find(|test| !fits(test))
            .map_or(Ok(()), |test| Err(Mismatch::Argument(test.to_string())))
    }

    /// Nothing that an untrusted server says is heard: its tools count as the specification counts those that say
    /// nothing, and no rule that wants a hint allows them.
    fn judge_hints(&self, case: &Case<'_>) -> Result<(), Mismatch> {
        if self.annotations.is_empty() {
            return Ok(());
        }
        if !case.trusted && self.action == Action::Allow {
            return Err(Mismatch::Untrusted);
        }
        let is = Hints::of(case.tool.annotations.as_ref().filter(|_| case.trusted));
        self.annotations.missed(&is).map_or(Ok(()), |name| Err(Mismatch::Hint(name)))
    }

    /// The rule with the highest wins: first the more specific about the tool, then about the server, then the one that
    /// wants more of the call, then the stricter.
    pub(super) fn precedence(&self) -> (usize, usize, usize, Action) {
        let wants = self.arguments.len()
            + self.annotations.said().count()
            + usize::from(self.mode.is_some())
            + usize::from(self.principal.is_some());
        (glob::specificity(&self.tool), glob::specificity(&self.server), wants, self.action)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

#[cfg(test)]
mod tests;
