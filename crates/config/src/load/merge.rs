//! One server a name: the highest layer wins, within a layer the earlier file, and what loses is reported.

use std::collections::BTreeMap;

use super::bound::deciding;
use super::{Found, Loader};
use crate::config::{Shadowed, Untrusted};
use crate::origin::{Notice, OriginKind};
use crate::raw::{RawServer, Settings};
use crate::{shown, whole};

impl Loader<'_> {
    /// The servers that count, with everything that files say about them.
    pub(super) fn merge(&mut self) -> Vec<Found> {
        let found = std::mem::take(&mut self.servers);
        let (entries, more): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|found| found.raw.target.is_some());
        let mut more = self.trusted_more(more);
        let mut merged: Vec<Found> = Vec::new();
        for mut found in entries {
            if found.place.kind == OriginKind::McpJson && self.disabled.contains(&found.raw.name) {
                found.raw.settings.enabled.get_or_insert(false);
            }
            // What stands in another file about this server counts more than its own words.
            let about = more.get(&found.raw.name).map(|(_, settings)| settings.clone()).unwrap_or_default();
            let settings = about.or(found.raw.settings.clone());
            let is_off = settings.enabled == Some(false);
            if !is_off && !self.may_start(&found) {
                continue;
            }
            if let Some(winner) = merged.iter().find(|winner| winner.raw.name == found.raw.name) {
                self.shadowed(&found, &winner.raw.clone());
                continue;
            }
            found.raw.settings = settings;
            merged.push(found);
        }
        for found in &merged {
            more.remove(&found.raw.name);
        }
        self.about_nothing(more.into_values().map(|(raw, _)| raw));
        merged
    }

    /// What files of ours say about servers of other files, by their names.
    fn trusted_more(&mut self, more: Vec<Found>) -> BTreeMap<String, (RawServer, Settings)> {
        let mut all: BTreeMap<String, (RawServer, Settings)> = BTreeMap::new();
        for found in more {
            let only_off = found.raw.written == serde_json::json!({ "enabled": false });
            if !only_off && !self.may_start(&found) {
                continue;
            }
            let settings = found.raw.settings.clone();
            let (_, known) = all.entry(found.raw.name.clone()).or_insert((found.raw, Settings::default()));
            *known = std::mem::take(known).or(settings);
        }
        all
    }

    fn about_nothing(&mut self, more: impl Iterator<Item = RawServer>) {
        for raw in more {
            // It may be about one that is not trusted yet, or cannot be read.
            let is_elsewhere = self.config.untrusted.iter().any(|one| one.server.as_ref() == Some(&raw.name))
                || self.config.problems.iter().any(|one| one.server.as_ref() == Some(&raw.name));
            if !is_elsewhere {
                let message =
                    "it has neither `command` nor `url`, and no other file has a server of this name";
                let server = Some(raw.name);
                self.config.warnings.push(Notice { origin: raw.origin, server, message: message.to_owned() });
            }
        }
    }

    /// Whether it is of the person, or trusted.
    pub(super) fn may_start(&mut self, found: &Found) -> bool {
        let Found { raw, place, .. } = found;
        if !place.foreign {
            return true;
        }
        let hash = match self.hash_of(found) {
            Ok(hash) => hash,
            Err(problem) => {
                self.broken(raw, problem);
                return false;
            }
        };
        let (shown, texts) = match &raw.target {
            Some(target) => (shown::target(target), target.texts()),
            None => ("settings of a server of another file".to_owned(), Vec::new()),
        };
        let mut details =
            whole::server(&raw.written, place.kind, texts.iter().map(|text| text.text.as_str()));
        details.extend(self.values(&deciding(raw)));
        let (server, origin) = (Some(raw.name.clone()), raw.origin.clone());
        self.is_trusted(Untrusted { server, origin, shown, details, hash, changed: false }, place)
    }

    fn shadowed(&mut self, found: &Found, winner: &RawServer) {
        let raw = &found.raw;
        let same = raw.written == winner.written;
        if !same && raw.origin.layer == winner.origin.layer {
            let message =
                format!("another file has a server of this name: the one at {} is used", winner.origin);
            let server = Some(raw.name.clone());
            self.config.warnings.push(Notice { origin: raw.origin.clone(), server, message });
        }
        self.config.shadowed.push(Shadowed {
            name: raw.name.clone(),
            origin: raw.origin.clone(),
            shown: raw.target.as_ref().map(shown::target).unwrap_or_default(),
            by: winner.origin.clone(),
            same,
        });
    }
}
