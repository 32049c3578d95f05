//! Tools that were compiled before: the next run with the same tools is given the same ones.
//!
//! Compiling hundreds of tools costs more than everything else that happens before a model is asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use switchboard_protocol::model::tool::Tool;

use crate::digest::Digest;
use crate::exposure::{Exposure, ExposureOptions, FailedServer};
use crate::name::ServerName;
use crate::policy::Listing;

/// How many are kept: those of a session that begins and of one that goes on, for two models.
const KEPT: usize = 4;

/// What servers declare, and which are missing.
pub(super) struct Listed {
    pub(super) listings: Vec<(ServerName, Arc<Listing>)>,
    pub(super) failed: Vec<FailedServer>,
}

/// What was compiled from what, the latest first.
type Kept = VecDeque<(Digest, Arc<Exposure>)>;

/// What was compiled last. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled(Arc<Mutex<Kept>>);

impl Compiled {
    /// Compiles what is listed, unless the very same was compiled lately.
    pub(super) fn exposure(&self, listed: Listed, options: &ExposureOptions<'_>) -> Arc<Exposure> {
        let key = key(&listed, options);
        let known = key.and_then(|key| self.known(key));
        known.unwrap_or_else(|| {
            let Listed { listings, failed } = listed;
            let declared = listings.iter().map(|(server, listing)| (server.clone(), listing.declared()));
            let exposure = Exposure::compile_for(declared, options);
            let identities =
                listings.iter().map(|(server, listing)| (server.clone(), listing.identity.clone()));
            let exposure = exposure.listed_by(identities.collect()).without(failed);
            let exposure = Arc::new(exposure);
            if let Some(key) = key {
                self.keep(key, &exposure);
            }
            exposure
        })
    }

    fn known(&self, key: Digest) -> Option<Arc<Exposure>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(known, _)| *known == key)?;
        let found = kept.remove(at)?;
        let exposure = Arc::clone(&found.1);
        kept.push_front(found);
        Some(exposure)
    }

    fn keep(&self, key: Digest, exposure: &Arc<Exposure>) {
        let mut kept = self.lock();
        kept.truncate(KEPT - 1);
        kept.push_front((key, Arc::clone(exposure)));
    }

    // Nothing panics while it is held, so a poisoned one is sound.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server, its tools, and those that cannot be used with the reasons.
type KeyServer<'a> = (&'a str, &'a [Tool], Vec<(&'a str, &'a str)>);

/// Everything that an exposure is made from.
#[derive(Serialize)]
struct Key<'a> {
    options: String,
    servers: Vec<KeyServer<'a>>,
    identities: String,
    failed: String,
}

/// The same for the same input only; nothing where that cannot be written down.
fn key(listed: &Listed, options: &ExposureOptions<'_>) -> Option<Digest> {
    let servers = listed.listings.iter().map(|(server, listing)| {
        let invalid = listing.invalid.iter().map(|one| (one.name.as_str(), one.reason.as_str()));
        (server.as_str(), &*listing.tools, invalid.collect())
    });
    let identities: Vec<_> = listed.listings.iter().map(|(_, listing)| &listing.identity).collect();
    let key = Key {
        options: format!("{options:?}"),
        servers: servers.collect(),
        identities: format!("{identities:?}"),
        failed: format!("{:?}", listed.failed),
    };
    serde_json::to_vec(&key).ok().map(|bytes| Digest::of(&[&bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exposure::ToolFilter;
    use crate::identity::Identity;

    fn listed(description: &str, revision: &str) -> Listed {
        let server = ServerName::new("s").unwrap();
        let tool =
            format!(r#"{{"name":"t","description":"{description}","inputSchema":{{"type":"object"}}}}"#);
        let tools = [serde_json::from_str(&tool).unwrap()];
        let identity = Identity { revision: revision.to_owned(), ..Identity::default() };
        let listing = Listing::new(identity, Arc::new(tools), Arc::default());
        Listed { listings: vec![(server, Arc::new(listing))], failed: Vec::new() }
    }

    #[test]
    fn the_same_tools_are_compiled_once() {
        let (compiled, options) = (Compiled::default(), ExposureOptions::default());
        let first = compiled.exposure(listed("d", "r"), &options);
        assert!(Arc::ptr_eq(&first, &compiled.exposure(listed("d", "r"), &options)));
        for (description, revision) in [("e", "r"), ("d", "q")] {
            assert!(!Arc::ptr_eq(&first, &compiled.exposure(listed(description, revision), &options)));
        }
        let missing = FailedServer { server: ServerName::new("f").unwrap(), message: "gone".to_owned() };
        let without = Listed { failed: vec![missing.clone()], ..listed("d", "r") };
        assert_eq!(compiled.exposure(without, &options).failed_servers(), [missing]);
    }

    #[test]
    fn whoever_compiles_for_something_else_is_given_something_else() {
        let compiled = Compiled::default();
        let first = compiled.exposure(listed("d", "r"), &ExposureOptions::default());
        let hidden = ToolFilter { exclude: vec!["t".to_owned()], ..ToolFilter::default() };
        let filters = [(ServerName::new("s").unwrap(), hidden)].into();
        let offered = ["s__other".to_owned()];
        let others = [
            ExposureOptions { filters, ..ExposureOptions::default() },
            ExposureOptions { offered: &offered, ..ExposureOptions::default() },
            ExposureOptions { max_description: Some(1), ..ExposureOptions::default() },
        ];
        for options in &others {
            assert!(!Arc::ptr_eq(&first, &compiled.exposure(listed("d", "r"), options)), "{options:?}");
        }
        assert!(Arc::ptr_eq(&first, &compiled.exposure(listed("d", "r"), &ExposureOptions::default())));
    }

    #[test]
    fn few_are_kept() {
        let (compiled, options) = (Compiled::default(), ExposureOptions::default());
        for number in 0..10 {
            compiled.exposure(listed(&number.to_string(), "r"), &options);
        }
        assert_eq!(compiled.lock().len(), KEPT);
    }
}
