//! Prepared lists in the shape of older revisions, each made once.
//!
//! A page of a list is bytes that the catalog holds; what a revision makes of them is kept next to a handle
//! to those bytes, so that the handle's address tells which page it is. Pages that were made for one caller
//! have no other holder and are converted anew.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use switchboard_protocol::era::legacy;
use switchboard_protocol::{Method, Revision};

/// How many converted pages are kept, over all lists and revisions.
const PAGES: usize = 64;

/// The converted pages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Lists(Mutex<VecDeque<Page>>);

#[derive(Debug)]
struct Page {
    /// Held, so that its address is nobody else's.
    source: Bytes,
    revision: Revision,
    converted: Bytes,
}

impl Page {
    fn is(&self, source: &Bytes, revision: Revision) -> bool {
        self.revision == revision
            && self.source.as_ptr() == source.as_ptr()
            && self.source.len() == source.len()
    }
}

impl Lists {
    /// A prepared list as the revision has it.
    pub(super) fn convert(
        &self,
        method: Method,
        source: &Bytes,
        revision: Revision,
    ) -> Result<Bytes, serde_json::Error> {
        if source.is_unique() {
            return legacy::list(method, source, revision).map(Bytes::from);
        }
        // The lock is held while a page is made: whoever else asks for it waits for this one.
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(page) = pages.iter().find(|page| page.is(source, revision)) {
            return Ok(page.converted.clone());
        }
        let converted: Bytes = legacy::list(method, source, revision)?.into();
        // Pages of an earlier generation, which nobody will ask for, have no other holder.
        pages.retain(|known| !known.source.is_unique());
        if pages.len() >= PAGES {
            pages.pop_front();
        }
        pages.push_back(Page { source: source.clone(), revision, converted: converted.clone() });
        Ok(converted)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use switchboard_protocol::{Method, Revision};

    use super::{Lists, PAGES};

    fn page(name: usize) -> Bytes {
        format!(
            r#"{{"resultType":"complete","tools":[{{"name":"{name}","inputSchema":{{"type":"object"}}}}]}}"#
        )
        .into()
    }

    fn convert(lists: &Lists, page: &Bytes, revision: Revision) -> Bytes {
        lists.convert(Method::ListTools, page, revision).unwrap()
    }

    #[test]
    fn a_page_that_somebody_holds_is_converted_once_for_each_revision() {
        let lists = Lists::default();
        let page = page(1);
        let held = page.clone();
        for revision in Revision::LEGACY {
            let first = convert(&lists, &held, *revision);
            assert!(!first.starts_with(br#"{"resultType"#), "{first:?}");
            assert_eq!(convert(&lists, &held, *revision).as_ptr(), first.as_ptr());
        }
        assert_eq!(lists.0.lock().unwrap().len(), Revision::LEGACY.len());
    }

    #[test]
    fn what_nobody_else_holds_is_not_kept_and_what_is_kept_is_bounded() {
        let lists = Lists::default();
        convert(&lists, &page(0), Revision::NEWEST_LEGACY);
        assert_eq!(lists.0.lock().unwrap().len(), 0);
        let pages: Vec<Bytes> = (0..2 * PAGES).map(page).collect();
        for page in &pages {
            convert(&lists, &page.clone(), Revision::NEWEST_LEGACY);
        }
        assert_eq!(lists.0.lock().unwrap().len(), PAGES);
        drop(pages);
        let (page, _held) = (page(7), page(7).clone());
        let _other = page.clone();
        convert(&lists, &page, Revision::NEWEST_LEGACY);
        assert_eq!(lists.0.lock().unwrap().len(), 1);
    }
}
