//! A rule as it stands in a configuration file.

use serde::{Deserialize, Serialize};

use super::{Action, Hints, InvalidRule, Presence, Rule, text};
use crate::policy::argument::ArgumentTest;

/// ```toml
/// [[policy.rules]]
/// action = "allow"
/// server = "files"
/// tool = "write_*"
/// arguments = [{ path = "path", inside = "~/docs" }]
/// ```
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleForm {
    action: Action,
    #[serde(default = "any")]
    server: String,
    #[serde(default = "any")]
    tool: String,
    #[serde(default, skip_serializing_if = "Hints::is_empty")]
    annotations: Hints,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    arguments: Vec<ArgumentTest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<Presence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    principal: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

fn any() -> String {
    "*".to_owned()
}

impl TryFrom<RuleForm> for Rule {
    type Error = InvalidRule;

    fn try_from(form: RuleForm) -> Result<Self, InvalidRule> {
        let RuleForm { action, server, tool, annotations, arguments, mode, principal, reason } = form;
        if server.is_empty() || tool.is_empty() || server.contains('/') {
            let shown = format!("{action} {server}/{tool}");
            return Err(InvalidRule::new(&shown, "it lacks the server or the tool"));
        }
        if text::is_masked(&server, &tool) {
            return Err(InvalidRule::new(&format!("{action} {server}/{tool}"), text::MASKED));
        }
        Ok(Self { action, server, tool, annotations, arguments, mode, principal, reason })
    }
}

impl From<Rule> for RuleForm {
    fn from(rule: Rule) -> Self {
        let Rule { action, server, tool, annotations, arguments, mode, principal, reason } = rule;
        Self { action, server, tool, annotations, arguments, mode, principal, reason }
    }
}
