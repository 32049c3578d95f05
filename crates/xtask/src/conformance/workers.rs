//! A few workers on one list, with the results handed over as they come.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Runs `work` on every item, at most `workers` at a time, and `done` on this thread for each result.
pub(crate) fn run<T: Sync, R: Send>(
    workers: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(R),
) {
    let next = AtomicUsize::new(0);
    let (tx, rx) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (tx, next, work) = (tx.clone(), &next, &work);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if tx.send(work(item)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(tx);
        rx.iter().for_each(&mut done);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once() {
        for workers in [1, 2, 8] {
            let mut results = Vec::new();
            run(workers, &[1, 2, 3, 4, 5], |item| item * 10, |result| results.push(result));
            results.sort_unstable();
            assert_eq!(results, [10, 20, 30, 40, 50]);
        }
    }
}
