//! The resources of a session that somebody listens to. The server is asked to watch each once, and to stop
//! when the last listener has left [spec: server/resources, Subscriptions].

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// The resources that are listened to, and those that the server watches.
#[derive(Default)]
pub(super) struct Watched {
    /// How many listeners each has.
    listeners: Mutex<HashMap<String, usize>>,
    /// Those that the server was asked to watch, and whether it agreed; it may watch the others, too. Locked
    /// while it is asked, so that whatever it is asked last is what is wanted.
    asked: tokio::sync::Mutex<HashMap<String, bool>>,
}

impl Watched {
    // No code of others runs under the lock, so a poisoned one is whole.
    fn listeners(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more listens to this.
    pub(super) fn join(&self, uri: &str) {
        *self.listeners().entry(uri.to_owned()).or_default() += 1;
    }

    /// One less listens to these. Gives back those that nobody listens to any more.
    pub(super) fn leave(&self, uris: &[String]) -> Vec<String> {
        let mut listeners = self.listeners();
        let mut last = |uri: &&String| {
            let Some(count) = listeners.get_mut(*uri) else { return false };
            *count -= 1;
            let last = *count == 0;
            if last {
                listeners.remove(*uri);
            }
            last
        };
        uris.iter().filter(|uri| last(uri)).cloned().collect()
    }

    /// Asks the server to watch this, unless it does. When this is dropped, whoever comes next asks again.
    ///
    /// # Errors
    /// As the request fails.
    pub(super) async fn watch<T>(
        &self,
        uri: &str,
        ask: impl Future<Output = Result<T, Error>>,
    ) -> Result<(), Error> {
        let mut asked = self.asked.lock().await;
        if asked.get(uri) == Some(&true) {
            return Ok(());
        }
        asked.insert(uri.to_owned(), false);
        let answer = ask.await;
        match &answer {
            Ok(_) => drop(asked.insert(uri.to_owned(), true)),
            Err(error) if error.protocol_error().is_some() => drop(asked.remove(uri)),
            Err(_) => {}
        }
        answer.map(drop)
    }

    /// Asks the server to stop, unless somebody has come to listen meanwhile, or it was never asked to begin.
    pub(super) async fn unwatch<T>(&self, uri: &str, ask: impl Future<Output = T>) -> Option<T> {
        let mut asked = self.asked.lock().await;
        if self.listeners().contains_key(uri) || asked.remove(uri).is_none() {
            return None;
        }
        Some(ask.await)
    }
}
