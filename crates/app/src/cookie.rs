//! What a page holds once it has given the token: a value that only this host can make.
//!
//! It says until when it counts, and is sealed with a key that stands in the store, together with the token. So it
//! outlives the process, and ends with the token, with the store, with its time, and when somebody logs out. Neither the
//! token nor the store is enough to make one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_agent::Digest;
use switchboard_agent::store::{Store, StoreError};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a page stays logged in, in seconds. 30 days; the token may be shorter-lived.
pub(crate) const SECONDS: u64 = 30 * 24 * 3600;

/// Where the key stands in the store.
const KEY: (&str, &str) = ("page", "cookie-key");

/// Where those stand that were logged out.
const ENDED: (&str, &str) = ("page", "logged-out");

/// Cookies that were logged out and are kept. With one more, all end: the key is made anew.
const MOST_ENDED: usize = 1000;

/// How often whoever waits for the end of a cookie looks whether another process has ended it, or its time is over.
const LOOKS: Duration = Duration::from_secs(15);

/// Makes the cookies of one host, and knows them again. Another process may do the same with the same store.
pub(crate) struct Cookies {
    store: Arc<dyn Store>,
    token: String,
    sealed: Mutex<Sealed>,
    /// Counts those that were ended here.
    changed: watch::Sender<u64>,
}

/// What makes a cookie count.
struct Sealed {
    key: String,
    /// The names of cookies that were logged out, until when each would have counted.
    ended: BTreeMap<String, u64>,
}

impl Cookies {
    /// Those of this token, sealed with the key that is kept in `store`; with a new one where there is none.
    ///
    /// # Errors
    /// When the disk does not work, or the machine gives no random bytes.
    pub(crate) fn kept(store: &Arc<dyn Store>, token: &str) -> Result<Self, StoreError> {
        let key = match store.document(KEY.0, KEY.1)? {
            Some(key) => key,
            None => new_key(&**store)?,
        };
        let sealed = Mutex::new(Sealed { key, ended: ended(&**store)? });
        Ok(Self { store: Arc::clone(store), token: token.to_owned(), sealed, changed: watch::Sender::new(0) })
    }

    /// A cookie from now on, another one each time. None where the machine gives no random bytes.
    pub(crate) fn issue(&self) -> Option<String> {
        let (until, name) = ((now() + SECONDS).to_string(), random()?);
        let seal = self.seal(&self.newest().key, &until, &name);
        Some(format!("{until}.{name}.{seal}"))
    }

    /// Whether this host made it, for the token of now, and its time is not over. Reads the disk.
    pub(crate) fn is_ours(&self, cookie: &str) -> bool {
        self.known(&self.newest(), cookie).is_some()
    }

    /// Waits until a cookie does not count any more.
    pub(crate) async fn ended(self: Arc<Self>, cookie: String) {
        let mut changed = self.changed.subscribe();
        loop {
            let (cookies, cookie) = (Arc::clone(&self), cookie.clone());
            let ours = tokio::task::spawn_blocking(move || cookies.is_ours(&cookie)).await;
            // An error means that the program is ending.
            if !ours.unwrap_or(false) {
                return;
            }
            let _ = timeout(LOOKS, changed.changed()).await;
        }
    }

    /// Ends a cookie, also for those who have copied it, and for the host when it is started again. One that does not
    /// count is left alone: nobody fills the store with what they made up.
    ///
    /// # Errors
    /// When the disk does not work. It is ended all the same until the process ends.
    pub(crate) fn end(&self, cookie: &str) -> Result<(), StoreError> {
        let mut sealed = self.newest();
        let Some((name, until)) = self.known(&sealed, cookie).map(|(name, until)| (name.to_owned(), until))
        else {
            return Ok(());
        };
        let now = now();
        sealed.ended.retain(|_, until| now < *until);
        sealed.ended.insert(name, until);
        self.changed.send_modify(|changes| *changes += 1);
        if sealed.ended.len() > MOST_ENDED {
            sealed.key = new_key(&*self.store)?;
            sealed.ended.clear();
        }
        let text =
            serde_json::to_string(&sealed.ended).map_err(|error| StoreError::new(error.to_string()))?;
        self.store.put_document(ENDED.0, ENDED.1, Some(&text))
    }

    /// What makes a cookie count by now, wherever it was changed. Where the disk cannot be read, what is known counts on.
    fn newest(&self) -> MutexGuard<'_, Sealed> {
        let mut sealed = self.lock();
        let read = || Ok::<_, StoreError>((self.store.document(KEY.0, KEY.1)?, ended(&*self.store)?));
        match read() {
            Ok((Some(key), kept)) => {
                if key != sealed.key {
                    *sealed = Sealed { key, ended: BTreeMap::new() };
                }
                sealed.ended.extend(kept);
            }
            Ok((None, _)) => {}
            Err(error) => tracing::warn!(%error, "who is logged out elsewhere is not known"),
        }
        sealed
    }

    /// The name of a cookie that counts, and until when it does.
    fn known<'a>(&self, sealed: &Sealed, cookie: &'a str) -> Option<(&'a str, u64)> {
        let mut parts = cookie.splitn(3, '.');
        let (until, name, seal) = (parts.next()?, parts.next()?, parts.next()?);
        // Digests, so that comparing takes the same time whatever differs.
        let own = self.seal(&sealed.key, until, name);
        let ours = Digest::of(&[own.as_bytes()]) == Digest::of(&[seal.as_bytes()]);
        let until = until.parse().ok().filter(|until| ours && now() < *until)?;
        (!sealed.ended.contains_key(name)).then_some((name, until))
    }

    /// Each part goes in with its length, and there are always as many: no seal is the beginning of another.
    fn seal(&self, key: &str, until: &str, name: &str) -> String {
        let parts = ["switchboard cookie", key, &self.token, until, name];
        Digest::of(&parts.map(str::as_bytes)).to_string()
    }

    fn lock(&self) -> MutexGuard<'_, Sealed> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those that are kept as logged out.
fn ended(store: &dyn Store) -> Result<BTreeMap<String, u64>, StoreError> {
    let Some(text) = store.document(ENDED.0, ENDED.1)? else { return Ok(BTreeMap::new()) };
    serde_json::from_str(&text)
        .map_err(|error| StoreError::new(format!("who is logged out cannot be read: {error}")))
}

/// Makes a key and keeps it. What was sealed with the one before ends.
fn new_key(store: &dyn Store) -> Result<String, StoreError> {
    let key = random().ok_or_else(|| StoreError::new("the machine gives no random bytes"))?;
    store.put_document(KEY.0, KEY.1, Some(&key))?;
    Ok(key)
}

/// 32 random bytes, in hexadecimal.
fn random() -> Option<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Now, in seconds since 1970-01-01 UTC.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use switchboard_agent::store::MemoryStore;

    use super::*;

    fn memory() -> Arc<dyn Store> {
        Arc::new(MemoryStore::default())
    }

    #[test]
    fn a_cookie_that_was_logged_out_counts_no_more() {
        let store = memory();
        let cookies = Cookies::kept(&store, "token").unwrap();
        let (one, other) = (cookies.issue().unwrap(), cookies.issue().unwrap());
        for cookie in [&one, &one, "made up", &format!("{other}x")] {
            cookies.end(cookie).unwrap();
        }
        for cookies in [&cookies, &Cookies::kept(&store, "token").unwrap()] {
            assert_eq!((cookies.is_ours(&one), cookies.is_ours(&other)), (false, true));
        }
        assert_eq!(cookies.lock().ended.len(), 1, "and nothing that was made up is kept");
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_the_end_of_a_cookie_hears_of_it_wherever_it_is_ended() {
        let store = memory();
        let [here, elsewhere] = [(); 2].map(|()| Arc::new(Cookies::kept(&store, "token").unwrap()));
        for ends in [&here, &elsewhere] {
            let (one, other) = (here.issue().unwrap(), here.issue().unwrap());
            let mut waits = std::pin::pin!(Arc::clone(&here).ended(one.clone()));
            assert!(timeout(2 * LOOKS, &mut waits).await.is_err(), "it counts");
            ends.end(&one).unwrap();
            waits.await;
            assert!(!here.is_ours(&one) && here.is_ours(&other) && elsewhere.is_ours(&other));
        }
        // What one has ended the other keeps.
        assert_eq!(Cookies::kept(&store, "token").unwrap().lock().ended.len(), 2);
    }

    #[test]
    fn what_is_kept_of_those_that_were_logged_out_is_bounded_and_lets_nobody_in_again() {
        let store = memory();
        let cookies = Cookies::kept(&store, "token").unwrap();
        let first = cookies.issue().unwrap();
        cookies.end(&first).unwrap();
        // One whose time is over by now is not kept on.
        cookies.lock().ended.insert("over".to_owned(), 1);
        for _ in 0..MOST_ENDED {
            cookies.end(&cookies.issue().unwrap()).unwrap();
            assert!(cookies.lock().ended.len() <= MOST_ENDED && !cookies.lock().ended.contains_key("over"));
        }
        for cookies in [&cookies, &Cookies::kept(&store, "token").unwrap()] {
            assert!(!cookies.is_ours(&first));
            assert!(cookies.is_ours(&cookies.issue().unwrap()));
        }
    }

    #[test]
    fn a_cookie_counts_for_its_store_and_its_token_as_long_as_it_says() {
        let (store, other) = (memory(), memory());
        let cookies = Cookies::kept(&store, "token").unwrap();
        let cookie = cookies.issue().unwrap();
        assert_ne!(cookie, cookies.issue().unwrap(), "each is another");
        let (sealed, _) = cookie.rsplit_once('.').unwrap();
        let (until, name) = sealed.split_once('.').unwrap();
        let longer = cookie.replacen(until, &(now() + 2 * SECONDS).to_string(), 1);
        let over = (now() - 1).to_string();
        let over = format!("{over}.{name}.{}", cookies.seal(&cookies.lock().key, &over, name));
        for (what, store, token, cookie, ours) in [
            ("it was made here", &store, "token", cookie.clone(), true),
            ("the token is another", &store, "another", cookie.clone(), false),
            ("the store is another", &other, "token", cookie.clone(), false),
            ("its time was made longer", &store, "token", longer, false),
            ("its time is over", &store, "token", over, false),
            ("a part of it", &store, "token", sealed.to_owned(), false),
            ("nothing", &store, "token", String::new(), false),
        ] {
            assert_eq!(Cookies::kept(store, token).unwrap().is_ours(&cookie), ours, "{what}");
        }
    }
}
