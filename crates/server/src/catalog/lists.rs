//! The pages of a list, and the cursors between them.
//!
//! Pages are serialised once a generation where all callers see the same, and put together from prepared
//! definitions at every request where they do not. A cursor is a sealed token bound to the method and to
//! the digest of the list, or of the caller's view of it. It is good as long as that is the same, on every
//! replica; after a change the client starts over [spec: server/utilities/pagination].

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use switchboard_protocol::meta::SERVER_INFO;
use switchboard_protocol::model::result::CacheScope;
use switchboard_protocol::{Method, ProtocolError};

use super::Facts;
use super::bind::Exposed;
use crate::seal::Purpose;
use crate::visible::Caller;

/// The purpose of sealed cursors.
const CURSOR: &str = "cursor";

/// One list.
pub(super) struct List {
    method: Method,
    /// Of all the definitions, in their order: tells one generation of the list from another.
    pub(super) digest: [u8; 32],
    content: Content,
}

enum Content {
    /// The list is the same for all: whole result objects.
    Pages(Vec<Bytes>),
    /// Every caller has a view of its own, made when it asks.
    Views { member: &'static str, items: Vec<Arc<Exposed>> },
}

impl List {
    /// Writes the pages of a list whose result has the items under `member`.
    pub(super) fn new(
        (method, member): (Method, &'static str),
        items: &[Arc<Exposed>],
        facts: &Facts,
    ) -> Result<Self, String> {
        let mut hasher = Sha256::new();
        for item in items {
            hasher.update((item.definition.len() as u64).to_be_bytes());
            hasher.update(&item.definition);
        }
        let digest = hasher.finalize().into();
        if items.iter().any(|item| !item.visible.is_empty()) {
            return Ok(Self { method, digest, content: Content::Views { member, items: items.to_vec() } });
        }
        let items: Vec<&Exposed> = items.iter().map(|item| &**item).collect();
        let purpose = Purpose { kind: CURSOR, method, caller: None, digest };
        let pages = 0..page_count(items.len(), facts);
        let pages = pages.map(|number| write_page(member, &items, (number, purpose, facts)));
        Ok(Self { method, digest, content: Content::Pages(pages.collect::<Result<_, _>>()?) })
    }

    /// The page that a request asks for.
    pub(super) fn page(
        &self,
        cursor: Option<&str>,
        (caller, facts): (&Caller<'_>, &Facts),
    ) -> Result<Bytes, ProtocolError> {
        let Self { method, digest, content } = self;
        let purpose = Purpose { kind: CURSOR, method: *method, caller: None, digest: *digest };
        match content {
            Content::Pages(pages) => {
                let number = open(cursor, purpose, facts);
                number.and_then(|number| pages.get(number)).cloned().ok_or_else(stale)
            }
            Content::Views { member, items } => {
                let (digest, view) = self.view(items, caller);
                let purpose = Purpose { caller: caller.id(), digest, ..purpose };
                let number = open(cursor, purpose, facts).ok_or_else(stale)?;
                if number >= page_count(view.len(), facts) {
                    return Err(stale());
                }
                write_page(member, &view, (number, purpose, facts)).map_err(ProtocolError::internal)
            }
        }
    }

    /// What a caller sees of the list, and a digest of that: a cursor is good for one view only, so that
    /// no item is told twice or left out when somebody's rights change between two pages.
    fn view<'a>(&self, items: &'a [Arc<Exposed>], caller: &Caller<'_>) -> ([u8; 32], Vec<&'a Exposed>) {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        let mut view = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.is_visible(caller)) {
            hasher.update((index as u64).to_be_bytes());
            view.push(&**item);
        }
        (hasher.finalize().into(), view)
    }
}

#[cold]
fn stale() -> ProtocolError {
    ProtocolError::invalid_params(
        "The cursor is not valid, or the list has changed since; start over without a cursor",
    )
}

fn page_size(facts: &Facts) -> usize {
    facts.terms.core.limits.page_size.max(1)
}

/// An empty list has one page.
fn page_count(items: usize, facts: &Facts) -> usize {
    items.div_ceil(page_size(facts)).max(1)
}

/// The number of the page that a cursor stands for.
fn open(cursor: Option<&str>, purpose: Purpose<'_>, facts: &Facts) -> Option<usize> {
    let Some(cursor) = cursor else { return Some(0) };
    let payload = facts.terms.core.seal.open(purpose, cursor).ok()?;
    usize::try_from(u64::from_be_bytes(payload.try_into().ok()?)).ok()
}

fn write_page(
    member: &str,
    items: &[&Exposed],
    (number, purpose, facts): (usize, Purpose<'_>, &Facts),
) -> Result<Bytes, String> {
    let rest = items.get(number * page_size(facts)..).unwrap_or_default();
    let (items, rest) = rest.split_at_checked(page_size(facts)).unwrap_or((rest, &[]));
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
    if !rest.is_empty() {
        let next = facts.terms.core.seal.seal(purpose, None, &(number as u64 + 1).to_be_bytes())?;
        // Base64url needs no escapes.
        out.push_str(&format!(r#","nextCursor":"{next}""#));
    }
    out.push_str(&tail(facts));
    Ok(out.into())
}

/// The cache hints and the identity, with which prepared results end.
pub(super) fn tail(facts: &Facts) -> String {
    let (ttl_ms, scope) = facts.terms.list_cache.hints();
    let scope = match scope {
        CacheScope::Public => "public",
        CacheScope::Private => "private",
    };
    let stamp = &facts.stamp;
    format!(r#","ttlMs":{ttl_ms},"cacheScope":"{scope}","_meta":{{"{SERVER_INFO}":{stamp}}}}}"#)
}
