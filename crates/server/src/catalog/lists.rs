//! The pages of a list, serialised once a generation, and the cursors between them.
//!
//! A cursor is a sealed token bound to the method and to the digest of the list. It is good as long as the
//! list is the same, on every replica; after a change the client starts over
//! [spec: server/utilities/pagination].

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use switchboard_protocol::meta::SERVER_INFO;
use switchboard_protocol::model::result::CacheScope;
use switchboard_protocol::{Method, ProtocolError};

use super::Facts;
use super::bind::Exposed;
use crate::seal::Purpose;

/// One list.
pub(super) struct List {
    method: Method,
    /// Of all the definitions, in their order: tells one generation of the list from another.
    pub(super) digest: [u8; 32],
    /// Whole result objects.
    pages: Vec<Bytes>,
}

impl List {
    /// Writes the pages of a list whose result has the items under `member`.
    pub(super) fn new(
        (method, member): (Method, &str),
        items: &[Arc<Exposed>],
        facts: &Facts,
    ) -> Result<Self, String> {
        let mut hasher = Sha256::new();
        for item in items {
            hasher.update((item.definition.len() as u64).to_be_bytes());
            hasher.update(&item.definition);
        }
        let mut list = Self { method, digest: hasher.finalize().into(), pages: Vec::new() };
        let size = facts.core.limits.page_size.max(1);
        let count = items.len().div_ceil(size).max(1);
        for number in 0..count {
            let page = items.get(number * size..).unwrap_or_default();
            let page = page.get(..size).unwrap_or(page);
            let next = if number + 1 < count { Some(list.cursor(number + 1, facts)?) } else { None };
            list.pages.push(write_page(member, page, (next, facts)));
        }
        Ok(list)
    }

    /// The page that a request asks for.
    pub(super) fn page(&self, cursor: Option<&str>, facts: &Facts) -> Result<Bytes, ProtocolError> {
        let number = match cursor {
            None => Some(0),
            Some(cursor) => self.open(cursor, facts),
        };
        number.and_then(|number| self.pages.get(number)).cloned().ok_or_else(|| {
            ProtocolError::invalid_params(
                "The cursor is not valid, or the list has changed since; start over without a cursor",
            )
        })
    }

    fn purpose(&self) -> Purpose<'static> {
        Purpose { kind: "cursor", method: self.method, caller: None, digest: self.digest }
    }

    fn cursor(&self, number: usize, facts: &Facts) -> Result<String, String> {
        facts.core.seal.seal(self.purpose(), None, &(number as u64).to_be_bytes())
    }

    fn open(&self, cursor: &str, facts: &Facts) -> Option<usize> {
        let payload = facts.core.seal.open(self.purpose(), cursor).ok()?;
        usize::try_from(u64::from_be_bytes(payload.try_into().ok()?)).ok()
    }
}

fn write_page(member: &str, items: &[Arc<Exposed>], (next, facts): (Option<String>, &Facts)) -> Bytes {
    let size: usize = items.iter().map(|item| item.definition.len() + 1).sum();
    let mut out = String::with_capacity(size + 512);
    out.push_str(r#"{"resultType":"complete",""#);
    out.push_str(member);
    out.push_str(r#"":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&item.definition);
    }
    out.push(']');
    if let Some(next) = next {
        // Base64url needs no escapes.
        out.push_str(&format!(r#","nextCursor":"{next}""#));
    }
    out.push_str(&tail(facts));
    out.into()
}

/// The cache hints and the identity, with which prepared results end.
pub(super) fn tail(facts: &Facts) -> String {
    let (ttl_ms, scope) = facts.list_cache.hints();
    let scope = match scope {
        CacheScope::Public => "public",
        CacheScope::Private => "private",
    };
    let stamp = &facts.stamp;
    format!(r#","ttlMs":{ttl_ms},"cacheScope":"{scope}","_meta":{{"{SERVER_INFO}":{stamp}}}}}"#)
}
