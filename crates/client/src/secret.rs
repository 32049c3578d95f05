//! Headers that the host gave, masked wherever they could be printed.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// Which context of authorization an answer belongs to: a digest, so that keeping it keeps no
/// secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Partition([u8; 32]);

/// The headers that go with every request.
#[derive(Clone, Default)]
pub(crate) struct Headers(HeaderMap);

impl Headers {
    pub(crate) fn insert(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let name = HeaderName::try_from(name)
            .map_err(|error| Error::misuse(format!("{name:?} is no name of a header")).source(error))?;
        if is_ours(&name) {
            return Err(Error::misuse(format!("the header {name} belongs to the protocol"))
                .hint("leave it out; the client sets it"));
        }
        let mut value = HeaderValue::try_from(value).map_err(|error| {
            Error::misuse(format!("the value of the header {name} is invalid")).source(error)
        })?;
        value.set_sensitive(true);
        self.0.insert(name, value);
        Ok(())
    }

    pub(crate) fn bearer(&mut self, token: &str) -> Result<(), Error> {
        if token.is_empty() {
            return Err(Error::misuse("the bearer token is empty").hint("give one, or none at all"));
        }
        self.insert("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.0
    }

    /// Everything that the host sends may decide what it gets back, so all of it counts.
    pub(crate) fn partition(&self) -> Partition {
        let mut lines: Vec<_> =
            self.0.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        lines.sort_unstable();
        let mut digest = Sha256::new();
        for (name, value) in lines {
            digest.update(name.len().to_be_bytes());
            digest.update(name);
            digest.update(value.len().to_be_bytes());
            digest.update(value);
        }
        Partition(digest.finalize().into())
    }
}

fn is_ours(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("mcp-")
        || [header::CONTENT_TYPE, header::CONTENT_LENGTH, header::ACCEPT, header::HOST]
            .iter()
            .any(|ours| ours.as_str() == name)
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "***"))).finish()
    }
}
