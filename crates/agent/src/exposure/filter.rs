//! Which tools of a server are offered at all, and under which names: what a person configured.

use std::collections::BTreeMap;

use crate::policy::glob::matches;
use crate::supervisor::ServerConfig;

/// What a person says about the tools of one server. In patterns `*` stands for any text and `?` for one character.
///
/// ```
/// use switchboard_agent::exposure::ToolFilter;
///
/// let filter = ToolFilter { include: vec!["get_*".into()], exclude: vec!["*_all".into()], ..ToolFilter::default() };
/// assert_eq!(filter.hides("get_one"), None);
/// assert_eq!(filter.hides("get_all").as_deref(), Some("it is excluded by \"*_all\""));
/// assert_eq!(filter.hides("delete").as_deref(), Some("no pattern of the tools to include fits it"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Patterns of the tools to offer; empty for all.
    pub include: Vec<String>,
    /// Patterns of the tools not to offer. They count more than those to include.
    pub exclude: Vec<String>,
    /// Other names, by the tool's own name.
    pub rename: BTreeMap<String, String>,
}

impl ToolFilter {
    /// Why a tool is not offered, if it is not.
    #[must_use]
    pub fn hides(&self, tool: &str) -> Option<String> {
        if let Some(pattern) = self.exclude.iter().find(|pattern| matches(pattern, tool)) {
            return Some(format!("it is excluded by {pattern:?}"));
        }
        let included = self.include.is_empty() || self.include.iter().any(|pattern| matches(pattern, tool));
        (!included).then(|| "no pattern of the tools to include fits it".to_owned())
    }
}

impl From<&ServerConfig> for ToolFilter {
    fn from(config: &ServerConfig) -> Self {
        Self {
            include: config.include.clone(),
            exclude: config.exclude.clone(),
            rename: config.rename.clone(),
        }
    }
}
