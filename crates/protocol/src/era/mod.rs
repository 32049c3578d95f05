//! Revisions and eras: the only place that knows dates.
//!
//! A date is a row in a table; only the family (modern or legacy) is code. The adapter of the legacy
//! family is [`legacy`]; without the feature of that name a legacy revision is only recognised.

mod evidence;
#[cfg(feature = "legacy")]
pub mod legacy;

use std::fmt;

pub use evidence::{Evidence, Verdict};

/// A family of revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Era {
    /// Every request carries its version and the client's capabilities.
    Modern,
    /// A handshake opens a session.
    Legacy,
}

/// A published revision of the protocol, by its date.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(usize);

const TABLE: &[(&str, Era)] = &[
    ("2024-11-05", Era::Legacy),
    ("2025-03-26", Era::Legacy),
    ("2025-06-18", Era::Legacy),
    ("2025-11-25", Era::Legacy),
    ("2026-07-28", Era::Modern),
];

impl Revision {
    /// The newest published revision.
    pub const LATEST: Self = Self(TABLE.len() - 1);

    /// The revisions of the modern era, newest first.
    pub const MODERN: &'static [Self] = &[Self::LATEST];

    /// The revision with this date.
    #[must_use]
    pub fn from_date(date: &str) -> Option<Self> {
        TABLE.iter().position(|(known, _)| *known == date).map(Self)
    }

    /// The date, as it stands on the wire.
    #[must_use]
    pub fn date(self) -> &'static str {
        TABLE[self.0].0
    }

    /// The family that this revision belongs to.
    #[must_use]
    pub fn era(self) -> Era {
        TABLE[self.0].1
    }

    /// The modern revision with this date.
    #[must_use]
    pub fn modern(date: &str) -> Option<Self> {
        Self::from_date(date).filter(|known| known.era() == Era::Modern)
    }

    /// The dates of the modern revisions, newest first: what a refusal names.
    #[must_use]
    pub fn modern_dates() -> Vec<&'static str> {
        Self::MODERN.iter().map(|revision| revision.date()).collect()
    }

    /// The newest modern revision among those that a peer offers.
    #[must_use]
    pub fn newest_common<'a>(offered: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        offered.into_iter().filter_map(Self::modern).max()
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Revision({})", self.date())
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.date())
    }
}
