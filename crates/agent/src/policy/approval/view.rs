//! How a question is shown: as data for pages and programs, as text for a terminal.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Approval, Choice, Denial, DenialReason, Lasts, RuleToAdd, ServerFacts, Why};
use crate::digest::Digest;
use crate::journal::Masker;
use crate::name::{CallId, ServerName};
use crate::policy::Proposal;
use crate::policy::grants::ArgumentRule;
use crate::visible;

/// A text in the arguments that is longer is shortened at first, in characters.
const LONG: usize = 400;
/// How much of it is left.
const KEPT: usize = 200;

/// A question as a page or a program shows it. Names and texts of a server have everything invisible made visible,
/// except in `arguments`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// What the answer must carry.
    pub digest: Digest,
    /// Which call.
    pub call: CallId,
    /// Whose tool.
    pub server: ServerName,
    /// What is known of the server.
    pub identity: ServerView,
    /// The tool's own name.
    pub tool: String,
    /// The tool's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the server says that the tool does to the world.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// The whole arguments, as they will be sent, but for what is `hidden`.
    pub arguments: Value,
    /// Where a secret of the configuration stands in the arguments, as JSON pointers: it is sent, and `***` is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The whole arguments laid out as JSON, with everything invisible made visible.
    pub shown: String,
    /// The same with long texts shortened, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What was shortened in the preview.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened: Vec<Shortened>,
    /// Why the person is asked, in one line.
    pub rule: String,
    /// Why the person is asked.
    pub why: Why,
    /// What they may answer, the narrowest first.
    pub offers: Vec<Offer>,
    /// The rule that would make the question needless, where one would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_add: Option<RuleToAdd>,
}

/// What is known of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerView {
    /// What it calls itself, with its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implementation: Option<String>,
    /// The revision that is spoken with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// `modern`, or `legacy` where a session was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub era: Option<String>,
    /// Whether it is believed what it says about its tools.
    pub trusted: bool,
}

/// Something that a server says about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// It changes nothing.
    ReadOnly,
    /// It changes something.
    Changes,
    /// It may destroy something.
    Destructive,
    /// It destroys nothing.
    NotDestructive,
    /// It deals with the outside world.
    OpenWorld,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::Changes => "changes something",
            Self::Destructive => "may destroy",
            Self::NotDestructive => "destroys nothing",
            Self::OpenWorld => "reaches the outside world",
        })
    }
}

/// A text in the arguments that the preview does not show whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// Where, as a JSON pointer.
    pub path: String,
    /// Its length, in bytes.
    pub bytes: usize,
}

/// One answer that a person may give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Which.
    pub choice: Choice,
    /// What the arguments of further calls must be like, where the answer is for more than once. Without a test they may
    /// be any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ArgumentRule>,
    /// In words.
    pub label: String,
}

impl ServerView {
    pub(in crate::policy) fn of(facts: &ServerFacts) -> Self {
        let identity = facts.identity.as_ref();
        let era = |session| if session { "legacy" } else { "modern" };
        Self {
            implementation: identity
                .and_then(|identity| identity.implementation.as_deref())
                .map(|text| visible::short(text, 100)),
            revision: identity.map(|identity| visible::short(&identity.revision, 40)),
            era: identity.map(|identity| era(identity.session).to_owned()),
            trusted: facts.trusted,
        }
    }
}

/// One line: what it calls itself, what is spoken with it, whether it is trusted. Empty if nothing is known.
impl fmt::Display for ServerView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revision = self.revision.as_ref().map(|revision| format!("revision {revision}"));
        let era = self.era.as_ref().map(|era| format!("{era} era"));
        let trusted = self.trusted.then(|| "trusted".to_owned());
        let parts: Vec<String> =
            [self.implementation.clone(), revision, era, trusted].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { rule } => f.write_str(rule),
            Self::Changed { accepted_ms, .. } => {
                write!(f, "a change of the tool since {}", crate::render::instant(*accepted_ms))
            }
            Self::NewTool { since_ms, resembles } => {
                write!(f, "a new tool since {}", crate::render::instant(*since_ms))?;
                resembles
                    .as_ref()
                    .map_or(Ok(()), |other| write!(f, ", like {}, which is gone", visible::name(other)))
            }
            Self::Unreadable { problem } => {
                write!(f, "what was agreed to before, which cannot be read: {problem}")
            }
        }
    }
}

impl Approval {
    /// The question as data.
    #[must_use]
    pub fn view(&self) -> ApprovalView {
        let Proposal { call, server, tool, .. } = self.proposal();
        let Shown { value, text, hidden } = self.shown();
        let (preview, shortened) = preview(&value);
        let title = tool.title.as_deref().filter(|title| !title.is_empty());
        let view = ApprovalView {
            digest: self.digest(),
            call: *call,
            server: server.clone(),
            identity: ServerView::of(&self.asked.server),
            tool: visible::name(&tool.name),
            title: title.map(visible::line),
            claims: claims(self.proposal()),
            arguments: value,
            hidden,
            shown: text,
            preview,
            shortened,
            rule: visible::line(self.rule()),
            why: self.why().clone(),
            offers: offers(self.proposed(), self.asked.lasts),
            to_add: self.asked.to_add.clone(),
        };
        self.masker.known_in(&view).unwrap_or(view)
    }

    /// The arguments without secrets.
    fn shown(&self) -> Shown {
        let arguments = &self.proposal().arguments;
        let (mut value, mut hidden) = (self.proposal().value(), Vec::new());
        hide(&mut value, &self.masker, (&mut String::new(), &mut hidden));
        let masked = (!hidden.is_empty()).then(|| RawValue::from_string(value.to_string()).ok()).flatten();
        Shown { text: visible::json(masked.as_ref().unwrap_or(arguments)), value, hidden }
    }

    /// The question as text, several lines, ending with a newline. Long texts in the arguments are shortened and say
    /// so; [`render_whole`](Self::render_whole) shows them, too.
    #[must_use]
    pub fn render(&self) -> String {
        self.view().render(false)
    }

    /// The question as text with nothing shortened: the arguments are JSON and say exactly what will be sent.
    #[must_use]
    pub fn render_whole(&self) -> String {
        self.view().render(true)
    }
}

/// The arguments as a person sees them.
struct Shown {
    value: Value,
    text: String,
    /// Where a secret stands in them.
    hidden: Vec<String>,
}

impl ApprovalView {
    /// The question as text, several lines, ending with a newline.
    #[must_use]
    pub fn render(&self, whole: bool) -> String {
        let mut out = String::from("Allow this call?\n");
        let mut row = |label: &str, text: &str| {
            let text = text.replace('\n', "\n             ");
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {label:<10} {text}");
        };
        row("server", self.server.as_str());
        let identity = self.identity.to_string();
        if !identity.is_empty() {
            row("", &identity);
        }
        row("tool", &self.tool);
        if let Some(title) = &self.title {
            row("title", title);
        }
        if !self.claims.is_empty() {
            let claims: Vec<String> = self.claims.iter().map(ToString::to_string).collect();
            let verified = if self.identity.trusted { "" } else { ", unverified" };
            row("claims", &format!("{} (says the server{verified})", claims.join(", ")));
        }
        let preview = self.preview.as_ref().filter(|_| !whole);
        row("arguments", preview.unwrap_or(&self.shown));
        if !self.hidden.is_empty() {
            let places: Vec<String> = self.hidden.iter().map(|path| visible::line(path)).collect();
            row("hidden", &format!("at {} a configured secret is sent, not ***", places.join(", ")));
        }
        row("asked by", &self.rule);
        if let Why::Changed { difference, .. } = &self.why {
            row("changed", &difference.to_string());
        }
        row("digest", &self.digest.short(16));
        out
    }

    /// What becomes of the call where nobody answers: it is not made, and the rule or the pin that it lacks is named.
    pub(crate) fn unanswered(&self) -> Denial {
        let call = (self.call, self.server.clone(), self.tool.as_str());
        let denial = Denial::of(call, DenialReason::NobodyToAskSoFail, self.rule.clone());
        self.why.clone().unanswered(denial, self.to_add.clone())
    }

    /// Whether an answer is one of those that are offered, or a narrower one made of them: for as long as one offer says,
    /// but only for the calls that another one says. What is for more than once must say for which calls, so that nobody
    /// allows more than they named.
    ///
    /// # Errors
    /// What is offered, as JSON.
    pub(crate) fn check(&self, choice: Choice, rule: Option<&ArgumentRule>) -> Result<(), String> {
        let offered = |rule| self.offers.iter().any(|offer| offer.rule.as_ref() == Some(rule));
        let fits = |offer: &Offer| {
            offer.choice == choice && (offer.rule.as_ref() == rule || rule.is_some_and(offered))
        };
        if self.offers.iter().any(fits) {
            return Ok(());
        }
        let problem = match rule {
            None if choice.lasts() => "it is for more than once and does not say for which calls",
            _ => "it is none of those that are offered",
        };
        let offers = serde_json::to_string(&self.offers).unwrap_or_default();
        Err(format!("{problem}: give the `choice` and the `rule` of one of {offers}"))
    }
}

/// Nothing is offered that would not be kept. A rule is proposed with the answer that lasts longest. Each says how long
/// the answer counts and for which calls: those that its rule covers, or any where that has no test.
fn offers(proposed: Option<&ArgumentRule>, lasts: Lasts) -> Vec<Offer> {
    let offer = |choice, rule, label: &str| Offer { choice, rule, label: label.to_owned() };
    let mut offers = vec![offer(Choice::AllowOnce, None, "once")];
    let mut longer = vec![(Choice::AllowRun, "this run")];
    longer.extend(lasts.session.then_some((Choice::AllowSession, "this session")));
    longer.extend(lasts.always.then_some((Choice::AllowAlways, "always")));
    let last = longer.len() - 1;
    for (index, (choice, label)) in longer.into_iter().enumerate() {
        if let Some(rule) = proposed.filter(|_| index == last) {
            let label = format!("{label}: this tool, only where {rule}");
            offers.push(offer(choice, Some(rule.clone()), &label));
        }
        let label = format!("{label}: this tool, any arguments");
        offers.push(offer(choice, Some(ArgumentRule::any()), &label));
    }
    offers.push(offer(Choice::Deny, None, "no"));
    offers
}

/// What the server says that the tool does to the world.
fn claims(proposal: &Proposal) -> Vec<Claim> {
    let Some(hints) = proposal.tool.annotations.as_ref() else { return Vec::new() };
    let mut claims = Vec::new();
    claims.extend(hints.read_only_hint.map(|reads| if reads { Claim::ReadOnly } else { Claim::Changes }));
    if hints.read_only_hint != Some(true) {
        let destroys = |destroys| if destroys { Claim::Destructive } else { Claim::NotDestructive };
        claims.extend(hints.destructive_hint.map(destroys));
    }
    claims.extend(hints.open_world_hint.filter(|open| *open).map(|_| Claim::OpenWorld));
    claims
}

/// Masks the known secrets in a value, and notes where they stood. As deep as the value, which `serde_json` bounds.
fn hide(value: &mut Value, masker: &Masker, (path, hidden): (&mut String, &mut Vec<String>)) {
    match value {
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                within(path, &index.to_string(), |path| hide(element, masker, (path, hidden)));
            }
        }
        Value::Object(members) => {
            for (name, mut member) in std::mem::take(members) {
                let shown = masker.known(name.clone());
                within(path, &pointer(&shown), |path| {
                    let before = hidden.len();
                    hide(&mut member, masker, (path, hidden));
                    if shown != name && hidden.len() == before {
                        hidden.push(path.clone());
                    }
                });
                members.insert(shown, member);
            }
        }
        Value::String(_) | Value::Number(_) => {
            let before = value.clone();
            masker.known_value(value);
            if *value != before {
                hidden.push(path.clone());
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// A name as a step of a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The arguments with long texts shortened, if there are any.
fn preview(arguments: &Value) -> (Option<String>, Vec<Shortened>) {
    let (mut short, mut shortened) = (arguments.clone(), Vec::new());
    shorten(&mut short, &mut String::new(), &mut shortened);
    if shortened.is_empty() {
        return (None, shortened);
    }
    let raw = RawValue::from_string(short.to_string());
    (raw.ok().map(|raw| visible::json(&raw)), shortened)
}

/// As deep as the value, which `serde_json` bounds.
fn shorten(value: &mut Value, path: &mut String, shortened: &mut Vec<Shortened>) {
    match value {
        Value::String(text) if text.chars().nth(LONG).is_some() => {
            let bytes = text.len();
            let head: String = text.chars().take(KEPT).collect();
            *text = format!("{head}… ({bytes} bytes in all)");
            shortened.push(Shortened { path: path.clone(), bytes });
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                within(path, &index.to_string(), |path| shorten(element, path, shortened));
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                within(path, &pointer(name), |path| shorten(member, path, shortened));
            }
        }
        _ => {}
    }
}

fn within(path: &mut String, step: &str, work: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    work(path);
    path.truncate(length);
}
