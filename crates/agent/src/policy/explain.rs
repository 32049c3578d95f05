//! Why a call is allowed, asked about or denied, as an account for people.

use serde::Serialize;
use serde_json::Value;
use switchboard_protocol::model::tool::Tool;

use super::authority::{Authority, Verdict, verdict};
use super::grants::{Grant, GrantedCall, Scope};
use super::pins::PinState;
use super::{Action, Policy, Ruling};
use crate::artefact::{ALLOWED_BY, is_host_tool};
use crate::name::ServerName;

/// What becomes of a call, and everything that has a say in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Whose tool.
    pub server: ServerName,
    /// The tool's own name.
    pub tool: String,
    /// What becomes of the call.
    pub outcome: Outcome,
    /// What decides that.
    pub by: String,
    /// Where no arguments were given: what the rule that decides wants of them. Empty if that is nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// What becomes of calls with other arguments, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<Otherwise>,
    /// What the rules alone say.
    pub rules_say: Action,
    /// The rules about this tool, the one that decides first.
    pub rules: Vec<RuleShown>,
    /// How the tool stands to its pin.
    pub pin: PinState,
    /// What a person said before about this tool; the answer that covers the call first.
    pub grants: Vec<GrantShown>,
}

/// What becomes of a call whose arguments are not those that a rule wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Otherwise {
    /// What becomes of it.
    pub outcome: Outcome,
    /// What decides that.
    pub by: String,
    /// What is wanted of its arguments for that. Empty if that is nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is made.
    Allowed,
    /// A person is asked.
    Asked,
    /// It is not made, and the run goes on.
    Denied,
    /// It is not made, and the run ends with exit code 2.
    EndsRun,
}

/// A rule about a tool, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleShown {
    /// The rule.
    pub rule: String,
    /// What became of it.
    pub fate: Fate,
    /// Why.
    pub note: String,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It decides.
    Decides,
    /// It matches, and another decides.
    Loses,
    /// It does not match the call.
    NoMatch,
}

/// An earlier answer about a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantShown {
    /// The answer.
    pub grant: Grant,
    /// Whether it covers the call.
    pub covers: bool,
    /// Why not.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub note: &'static str,
}

impl Authority {
    /// Says what would become of a call, without making it or asking anybody. Without arguments, of any call of the
    /// tool: a rule then counts whatever it wants of them.
    #[must_use]
    pub fn explain(
        &self,
        (server, tool): (&ServerName, &Tool),
        arguments: Option<&Value>,
        scope: &Scope,
    ) -> Explanation {
        if is_host_tool(server) {
            return Explanation::of_host_tool(tool);
        }
        let policy = self.policy();
        let ruling = policy.ruling((server, tool), arguments, scope.principal());
        let rules = policy.account((server, tool), arguments, (scope.principal(), ruling.rule));
        let checked = self.pins().check(server, tool);
        let nothing = Value::Object(serde_json::Map::new());
        let call = GrantedCall {
            server,
            tool: &tool.name,
            pin: checked.pin,
            arguments: arguments.unwrap_or(&nothing),
            place: policy.place(server),
        };
        let grants = self.grants().account(&call, scope);
        let is_same = checked.state.is_same();
        let said = grants.iter().find(|grant| grant.covers).map(|grant| grant.grant.said());
        let said = (is_same, said);
        let fate = |policy: &Policy, ruling: &Ruling| policy.fate(ruling, &said, arguments.is_none());
        let Otherwise { outcome, by, when } = fate(policy, &ruling);
        let mut otherwise = Vec::new();
        let (mut rest, mut decides, mut open) = (policy.clone(), ruling.rule, !when.is_empty());
        while let Some(index) = decides.filter(|_| open) {
            rest.rules.remove(index);
            let ruling = rest.ruling((server, tool), None, scope.principal());
            let next = fate(&rest, &ruling);
            (decides, open) = (ruling.rule, !next.when.is_empty());
            otherwise.push(next);
        }
        Explanation {
            server: server.clone(),
            tool: tool.name.clone(),
            outcome,
            by,
            when,
            otherwise,
            rules_say: ruling.action,
            rules,
            pin: checked.state,
            grants,
        }
    }
}

impl Explanation {
    /// What becomes of a call of the host's own tool, whatever the rules, the arguments and earlier answers say.
    #[must_use]
    pub fn of_host_tool(tool: &Tool) -> Self {
        Self {
            server: ServerName::host(),
            tool: tool.name.clone(),
            outcome: Outcome::Allowed,
            by: ALLOWED_BY.to_owned(),
            when: String::new(),
            otherwise: Vec::new(),
            rules_say: Action::Allow,
            rules: Vec::new(),
            pin: PinState::Same,
            grants: Vec::new(),
        }
    }
}

impl Verdict {
    /// As an account for people: what becomes of the call, and what decides that.
    fn account(self, ruling: &Ruling, is_same: bool) -> (Outcome, String) {
        let outcome = match self {
            Self::Allowed(by) => return (Outcome::Allowed, by),
            Self::Asked => Outcome::Asked,
            Self::Denied(reason) if reason.ends_run() => Outcome::EndsRun,
            Self::Denied(_) => Outcome::Denied,
        };
        let is_rule = is_same || ruling.action == Action::Deny;
        (outcome, if is_rule { ruling.by.clone() } else { "a change of the tool".to_owned() })
    }
}

impl Policy {
    /// What becomes of a call; `of_any` if its arguments are not known.
    fn fate(&self, ruling: &Ruling, (is_same, said): &(bool, Option<String>), of_any: bool) -> Otherwise {
        let verdict = verdict(self.mode(), ruling, (*is_same, || said.clone()));
        let (outcome, by) = verdict.account(ruling, *is_same);
        Otherwise { outcome, by, when: if of_any { self.condition(ruling) } else { String::new() } }
    }

    /// What the rule that decides wants of arguments.
    fn condition(&self, ruling: &Ruling) -> String {
        let rule = ruling.rule.and_then(|index| self.rules().get(index));
        let tests = rule.into_iter().flat_map(super::Rule::arguments).map(ToString::to_string);
        tests.collect::<Vec<_>>().join(" and ")
    }

    /// The rules about a tool: the one that decides, those that lose, those that do not match.
    fn account(
        &self,
        (server, tool): (&ServerName, &Tool),
        arguments: Option<&Value>,
        (principal, decides): (Option<&str>, Option<usize>),
    ) -> Vec<RuleShown> {
        let case = self.case((server, tool), arguments, principal);
        let mut rules = Vec::new();
        for (index, rule) in self.rules().iter().enumerate() {
            if !rule.names(server, &tool.name) {
                continue;
            }
            let (fate, note) = match rule.judge(&case) {
                Err(mismatch) => (Fate::NoMatch, mismatch.to_string()),
                Ok(()) if decides == Some(index) => {
                    (Fate::Decides, rule.reason().unwrap_or_default().to_owned())
                }
                Ok(()) => {
                    let denied = decides.and_then(|at| self.rules().get(at)).map(super::Rule::action)
                        == Some(Action::Deny);
                    let why = if denied {
                        "a rule that denies comes first"
                    } else {
                        "a more specific rule decides"
                    };
                    (Fate::Loses, why.to_owned())
                }
            };
            rules.push(RuleShown { rule: rule.to_string(), fate, note });
        }
        rules.sort_by_key(|rule| match rule.fate {
            Fate::Decides => 0,
            Fate::Loses => 1,
            Fate::NoMatch => 2,
        });
        rules
    }
}
