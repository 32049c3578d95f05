//! What is done with a call that no rule is about.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What is done with a call that no rule is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Tools that a trusted server calls read-only are called; for all others a person is asked.
    #[default]
    Careful,
    /// Tools that a trusted server calls read-only are called; all others are not.
    ReadOnly,
    /// Nothing is called, and the run ends: what it needs must stand in a rule.
    CiStrict,
}

/// All of them.
const ALL: [Preset; 3] = [Preset::Careful, Preset::ReadOnly, Preset::CiStrict];

impl Preset {
    /// Its name, as one writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::ReadOnly => "read-only",
            Self::CiStrict => "ci-strict",
        }
    }

    /// Whether it believes trusted servers which of their tools only read.
    pub(super) fn trusts(self) -> bool {
        self != Self::CiStrict
    }

    /// Why it does what it does, for people.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Careful => "the default: every tool asks",
            Self::ReadOnly => "the preset read-only: only what a trusted server calls read-only is allowed",
            Self::CiStrict => "the preset ci-strict: only what a rule allows",
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no preset; they are careful, read-only and ci-strict")]
pub struct UnknownPreset(String);

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, UnknownPreset> {
        let unknown = || UnknownPreset(crate::visible::quoted(text, 50));
        ALL.into_iter().find(|preset| preset.as_str() == text).ok_or_else(unknown)
    }
}
