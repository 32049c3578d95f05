//! A list that every page is shown: made once for each change, and the same bytes for all of them.
//!
//! It is made when the first page wants it, and not at all where nobody looks. A page that reads slowly finds the
//! newest when it comes back, and what it missed is kept nowhere.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

/// The least time between two lists: what changes all the time is not made all the time.
const PAUSE: Duration = Duration::from_millis(100);

/// Makes a list. It may read the disk.
type Make = Box<dyn Fn() -> Option<Bytes> + Send + Sync>;

/// One list.
pub(crate) struct Shown {
    changes: watch::Receiver<u64>,
    make: Arc<Make>,
    newest: Mutex<Newest>,
}

/// The list as it was made last.
#[derive(Default)]
struct Newest {
    /// The change that it holds, and when it was made.
    made: Option<(u64, Instant)>,
    /// Grows with each list that is another than the one before.
    number: u64,
    list: Bytes,
}

impl Shown {
    /// A list that is another whenever `changes` says so.
    pub(crate) fn new(
        changes: watch::Receiver<u64>,
        make: impl Fn() -> Option<Bytes> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { changes, make: Arc::new(Box::new(make)), newest: Mutex::default() })
    }

    /// The list now, and whenever it is another. Ends when nothing can change any more.
    pub(crate) fn lists(self: &Arc<Self>) -> BoxStream<'static, Bytes> {
        let (shown, changes) = (Arc::clone(self), self.changes.clone());
        stream::unfold((shown, changes, None), |(shown, mut changes, mut seen)| async move {
            loop {
                if seen.is_some() {
                    changes.changed().await.ok()?;
                }
                let change = *changes.borrow_and_update();
                let (number, list) = shown.newest(change).await;
                if seen.replace(number) != Some(number) && number > 0 {
                    return Some((list, (shown, changes, seen)));
                }
            }
        })
        .boxed()
    }

    /// The list that holds a change. Of all who want it, the first makes it.
    async fn newest(&self, change: u64) -> (u64, Bytes) {
        let mut newest = self.newest.lock().await;
        if let Some((made, at)) = newest.made
            && made < change
        {
            tokio::time::sleep_until(at + PAUSE).await;
        }
        if newest.made.is_none_or(|(made, _)| made < change) {
            let (now, make) = (*self.changes.borrow(), Arc::clone(&self.make));
            // One that cannot be made is left as it was; the next change tries again.
            if let Ok(Some(list)) = tokio::task::spawn_blocking(move || make()).await
                && list != newest.list
            {
                newest.list = list;
                newest.number += 1;
            }
            newest.made = Some((now, Instant::now()));
        }
        (newest.number, newest.list.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A list that says how often it was made, until it has been made `most` times.
    fn counted(most: u64) -> (watch::Sender<u64>, Arc<AtomicU64>, Arc<Shown>) {
        let (changed, made) = (watch::Sender::new(0), Arc::new(AtomicU64::new(0)));
        let counter = Arc::clone(&made);
        let shown = Shown::new(changed.subscribe(), move || {
            let made = counter.fetch_add(1, Ordering::SeqCst) + 1;
            Some(made.min(most).to_string().into())
        });
        (changed, made, shown)
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_made_once_whoever_looks() {
        let (changed, made, shown) = counted(u64::MAX);
        let mut pages: Vec<_> = (0..50).map(|_| shown.lists()).collect();
        assert_eq!(made.load(Ordering::SeqCst), 0, "nobody looks");
        for round in ["1", "2", "3"] {
            for page in &mut pages {
                assert_eq!(page.next().await.as_deref(), Some(round.as_bytes()));
            }
            changed.send_modify(|changes| *changes += 1);
        }
        assert_eq!(made.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_is_slow_finds_the_newest() {
        let (changed, _, shown) = counted(u64::MAX);
        let (mut slow, mut quick) = (shown.lists(), shown.lists());
        slow.next().await;
        for _ in 0..10 {
            quick.next().await;
            changed.send_modify(|changes| *changes += 1);
        }
        assert_eq!(slow.next().await.as_deref(), Some(&b"11"[..]));
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_list_is_not_told_again_and_the_end_is() {
        let (changed, made, shown) = counted(1);
        let mut page = shown.lists();
        page.next().await;
        changed.send_modify(|changes| *changes += 1);
        drop(changed);
        assert_eq!((page.next().await, made.load(Ordering::SeqCst)), (None, 2));
    }
}
