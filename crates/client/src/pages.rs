//! When a list of pages ends: at its last page, or at a bound [spec: server/utilities/pagination].
//!
//! The machine knows cursors and counts, no items and no IO. An empty cursor is a cursor.

use std::collections::HashSet;

use crate::limits::Limits;

/// Follows the cursors of one list.
#[derive(Debug)]
pub(crate) struct Pages {
    max_pages: usize,
    max_items: usize,
    seen: HashSet<String>,
    pages: usize,
    items: usize,
    restarted: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask for the page at this cursor.
    Next(String),
    /// That was the last page.
    Done,
    /// Stop here; the reason is the server's fault.
    Stop(String),
}

impl Pages {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            max_pages: limits.pages.max(1),
            max_items: limits.items,
            seen: HashSet::new(),
            pages: 0,
            items: 0,
            restarted: false,
        }
    }

    /// How many more items the list may have.
    pub(crate) fn room(&self) -> usize {
        self.max_items.saturating_sub(self.items)
    }

    /// A page arrived.
    pub(crate) fn handle_page(&mut self, items: usize, next_cursor: Option<String>) -> Step {
        self.pages += 1;
        self.items = self.items.saturating_add(items);
        let Some(cursor) = next_cursor else {
            return if self.items > self.max_items { self.too_many() } else { Step::Done };
        };
        if self.seen.contains(&cursor) {
            return Step::Stop(format!("it repeats the cursor {:?}", crate::error::excerpt(&cursor)));
        }
        if self.pages >= self.max_pages {
            return Step::Stop(format!("it has more than {} pages", self.max_pages));
        }
        if self.items >= self.max_items {
            return self.too_many();
        }
        self.seen.insert(cursor.clone());
        Step::Next(cursor)
    }

    fn too_many(&self) -> Step {
        Step::Stop(format!("it has more than {} items", self.max_items))
    }

    /// A cursor was refused. Whether to start over: once, and only if there was a cursor.
    pub(crate) fn handle_invalid_cursor(&mut self) -> bool {
        if self.restarted || self.pages == 0 {
            return false;
        }
        self.restarted = true;
        self.pages = 0;
        self.items = 0;
        self.seen.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Pages, Step};
    use crate::limits::Limits;

    fn check(cursors: &[Option<&str>], expected: &[Step]) {
        let limits = Limits { pages: 4, items: 30, ..Limits::default() };
        let mut pages = Pages::new(&limits);
        let steps: Vec<_> =
            cursors.iter().map(|cursor| pages.handle_page(8, cursor.map(str::to_owned))).collect();
        assert_eq!(steps, expected, "{cursors:?}");
    }

    fn next(cursor: &str) -> Step {
        Step::Next(cursor.into())
    }

    fn stop(why: &str) -> Step {
        Step::Stop(why.into())
    }

    #[test]
    fn a_list_ends_at_its_last_page_or_at_a_bound() {
        check(&[None], &[Step::Done]);
        check(&[Some(""), None], &[next(""), Step::Done]);
        check(&[Some(""), Some("")], &[next(""), stop("it repeats the cursor \"\"")]);
        check(&[Some("11"), Some("11")], &[next("11"), stop("it repeats the cursor \"11\"")]);
        check(
            &[Some("c1"), Some("c2"), Some("c1")],
            &[next("c1"), next("c2"), stop("it repeats the cursor \"c1\"")],
        );
        check(
            &[Some("1"), Some("2"), Some("3"), Some("4")],
            &[next("1"), next("2"), next("3"), stop("it has more than 4 pages")],
        );
    }

    #[test]
    fn a_list_with_too_many_items_ends() {
        let mut pages = Pages::new(&Limits { items: 10, ..Limits::default() });
        assert_eq!(pages.handle_page(8, Some("1".into())), next("1"));
        assert_eq!(pages.handle_page(8, Some("2".into())), stop("it has more than 10 items"));
    }

    #[test]
    fn one_page_with_too_many_items_is_the_last() {
        for (items, expected) in [(10, Step::Done), (11, stop("it has more than 10 items"))] {
            let mut pages = Pages::new(&Limits { items: 10, ..Limits::default() });
            assert_eq!(pages.room(), 10);
            assert_eq!(pages.handle_page(items, None), expected);
            assert_eq!(pages.room(), 0);
        }
    }

    #[test]
    fn a_refused_cursor_starts_the_list_over_once() {
        let mut pages = Pages::new(&Limits::default());
        assert!(!pages.handle_invalid_cursor(), "the first page has no cursor that could be wrong");
        pages.handle_page(1, Some("1".into()));
        assert!(pages.handle_invalid_cursor());
        assert_eq!(pages.handle_page(1, Some("1".into())), next("1"));
        assert!(!pages.handle_invalid_cursor());
    }
}
