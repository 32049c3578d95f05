//! What the host knows to be secret, made ready to be searched for once for each change.

use std::sync::{Arc, Mutex, PoisonError};

use crate::journal::Masker;

/// A masker, and the secrets that it was made of.
#[derive(Default)]
pub(super) struct Remembered(Mutex<(Vec<String>, Arc<Masker>)>);

impl Remembered {
    /// The masker of these.
    pub(super) fn of(&self, secrets: Vec<String>) -> Arc<Masker> {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.0 != secrets {
            let mut masker = Masker::default();
            secrets.iter().for_each(|secret| masker.add(secret));
            *newest = (secrets, Arc::new(masker));
        }
        Arc::clone(&newest.1)
    }
}
