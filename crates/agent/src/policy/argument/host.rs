//! Whether an address is at one of some hosts.
//!
//! An address that two programs could read in two ways (a backslash, a name before `@`, a space) is at no host for
//! sure. Neither is one of another scheme than the web's: what `file://` or `gopher://` does with its host is not what
//! somebody has in mind who names a host.

use url::{Host, Url};

use super::{Fit, InvalidArgumentTest};
use crate::visible;

/// The longest address that is looked at, in bytes.
const LONGEST: usize = 64 * 1024;

/// The schemes of the web.
const SCHEMES: [&str; 4] = ["http", "https", "ws", "wss"];

pub(super) fn check_list(hosts: &[String]) -> Result<(), InvalidArgumentTest> {
    if hosts.is_empty() {
        return Err(InvalidArgumentTest::new("host_in needs a host"));
    }
    match hosts.iter().find(|entry| Wanted::read(entry).is_none()) {
        None => Ok(()),
        Some(entry) => Err(InvalidArgumentTest::new(format!(
            "{} is no host; write it as HOST, HOST:PORT or *.HOST",
            visible::quoted(entry, 200)
        ))),
    }
}

pub(super) fn fit(hosts: &[String], text: &str) -> Fit {
    let Some((host, port)) = place(text) else { return Fit::Unknown };
    let is_wanted = |entry: &String| Wanted::read(entry).is_some_and(|wanted| wanted.is(&host, port));
    Fit::of(hosts.iter().any(is_wanted))
}

/// The host of an address, for a rule that a person may want.
pub(in crate::policy) fn host_of(text: &str) -> Option<String> {
    if !text.contains("://") {
        return None;
    }
    place(text).map(|(host, _)| host)
}

/// The host and the port of an address, or of a bare `HOST` or `HOST:PORT`.
fn place(text: &str) -> Option<(String, Option<u16>)> {
    let is_odd = |character: char| {
        matches!(character, '\\' | ' ') || character.is_control() || visible::is_invisible(character)
    };
    if text.len() > LONGEST || text.contains(is_odd) {
        return None;
    }
    let Some((_, rest)) = text.split_once("://") else { return bare(text) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains(['@', '%']) {
        return None;
    }
    let url = Url::parse(text).ok().filter(|url| SCHEMES.contains(&url.scheme()))?;
    Some((normal(url.host_str()?)?, url.port_or_known_default()))
}

fn bare(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    Some((normal(host)?, port))
}

/// The host as one writes it: small letters, no dot at the end, an IP address in its usual form.
fn normal(host: &str) -> Option<String> {
    if host.is_empty() || host.contains(['/', '?', '#', '@', '%']) {
        return None;
    }
    let parsed = Host::parse(host).ok()?.to_string();
    Some(parsed.strip_suffix('.').unwrap_or(&parsed).to_owned())
}

/// One host of a list.
struct Wanted {
    host: String,
    below: bool,
    port: Option<u16>,
}

impl Wanted {
    fn read(entry: &str) -> Option<Self> {
        let (below, rest) = entry.strip_prefix("*.").map_or((false, entry), |rest| (true, rest));
        if rest.contains([',', '*']) || rest.chars().any(char::is_whitespace) {
            return None;
        }
        let (host, port) = bare(rest)?;
        Some(Self { host, below, port })
    }

    fn is(&self, host: &str, port: Option<u16>) -> bool {
        let right_host = if self.below {
            host.strip_suffix(self.host.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == self.host
        };
        right_host && self.port.is_none_or(|wanted| port == Some(wanted))
    }
}
