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
        let is_shared = !source.is_unique();
        if is_shared {
            let pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(page) = pages.iter().find(|page| page.is(source, revision)) {
                return Ok(page.converted.clone());
            }
        }
        let converted: Bytes = legacy::list(method, source, revision)?.into();
        if is_shared {
            self.keep(Page { source: source.clone(), revision, converted: converted.clone() });
        }
        Ok(converted)
    }

    fn keep(&self, page: Page) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Pages of an earlier generation, which nobody will ask for, have no other holder.
        pages.retain(|known| !known.source.is_unique());
        if pages.len() >= PAGES {
            pages.pop_front();
        }
        pages.push_back(page);
    }
}
