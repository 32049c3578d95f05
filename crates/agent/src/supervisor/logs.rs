//! What a server wrote and what was said on its wire: the latest of each, bounded, with its secrets masked.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use switchboard_client::{Direction, WireMessage};
use switchboard_protocol::model::tool::Tool;

use super::config::ServerConfig;
use super::options::LogSink;
use super::status::{LogLine, LogStream, WireLine};
use crate::journal::Masker;
use crate::name::ServerName;
use crate::policy::Listing;

/// The most that is kept of a server's lines.
const LOG_BYTES: usize = 256 * 1024;
/// The most that is kept of its messages.
const WIRE_BYTES: usize = 1024 * 1024;
/// The most of one line.
const LINE_BYTES: usize = 8 * 1024;
/// A message up to this long is kept whole.
const MESSAGE_BYTES: usize = 64 * 1024;
/// What one entry costs beside its text.
const ENTRY_BYTES: usize = 64;

/// The latest of something, bounded by its size.
#[derive(Debug)]
struct Ring<T> {
    entries: VecDeque<(usize, T)>,
    bytes: usize,
    limit: usize,
}

impl<T: Clone> Ring<T> {
    fn new(limit: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, limit }
    }

    fn push(&mut self, size: usize, entry: T) {
        let size = size + ENTRY_BYTES;
        self.entries.push_back((size, entry));
        self.bytes += size;
        while self.bytes > self.limit
            && let Some((size, _)) = self.entries.pop_front()
        {
            self.bytes -= size;
        }
    }

    fn last(&self, count: usize) -> Vec<T> {
        let skipped = self.entries.len().saturating_sub(count);
        self.entries.iter().skip(skipped).map(|(_, entry)| entry.clone()).collect()
    }
}

/// The logs of one server.
pub(super) struct Logs {
    server: ServerName,
    masker: Masker,
    /// Of that, what is sure to be secret.
    sure: Masker,
    lines: Mutex<Ring<LogLine>>,
    wire: Mutex<Ring<WireLine>>,
    sink: Option<LogSink>,
}

impl Logs {
    pub(super) fn new(config: &ServerConfig, sink: Option<LogSink>) -> Self {
        let mut masker = Masker::default();
        config.all_secrets().for_each(|secret| masker.add(secret));
        let mut sure = Masker::default();
        config.sure_secrets().for_each(|secret| sure.add(secret));
        Self {
            server: config.name.clone(),
            masker,
            sure,
            lines: Mutex::new(Ring::new(LOG_BYTES)),
            wire: Mutex::new(Ring::new(WIRE_BYTES)),
            sink,
        }
    }

    /// The host did something with the server.
    pub(super) fn host(&self, text: impl Into<String>) {
        self.line(LogStream::Host, text.into());
    }

    /// The server wrote a line.
    pub(super) fn line(&self, stream: LogStream, mut text: String) {
        // Half a secret would not be found.
        self.masker.text(&mut text);
        cut(&mut text, LINE_BYTES);
        let line = LogLine { unix_ms: unix_ms(), stream, text };
        if let Some(sink) = &self.sink {
            sink(&self.server, &line);
        }
        lock(&self.lines).push(line.text.len(), line);
    }

    /// A message passed. One that is too long to be kept is described, not cut: a half of it could not be masked.
    pub(super) fn message(&self, message: WireMessage<'_>) {
        let bytes = message.bytes.len();
        let text = if bytes > MESSAGE_BYTES {
            format!("a message of {bytes} bytes; those over {MESSAGE_BYTES} are not kept here")
        } else {
            self.masked(message.bytes)
        };
        let sent = message.direction == Direction::Sent;
        let line = WireLine { unix_ms: unix_ms(), sent, bytes, text };
        lock(&self.wire).push(line.text.len(), line);
    }

    fn masked(&self, bytes: &[u8]) -> String {
        match serde_json::from_slice::<Value>(bytes) {
            Ok(mut value) => {
                self.masker.value(&mut value);
                value.to_string()
            }
            Err(_) => {
                let mut text = String::from_utf8_lossy(bytes).into_owned();
                self.masker.text(&mut text);
                text
            }
        }
    }

    /// A text of the server, masked, for what is shown of it.
    pub(super) fn mask(&self, mut text: String) -> String {
        self.masker.text(&mut text);
        text
    }

    /// What a server that repeats its own secrets says of itself and its tools, without them: that goes to models, into pins
    /// and onto the page. What a tool is called by stays.
    pub(super) fn without_secrets(&self, mut listing: Listing) -> Listing {
        listing.identity.implementation = listing.identity.implementation.map(|text| self.sure.known(text));
        let text = serde_json::to_string(&*listing.tools).unwrap_or_default();
        if !self.sure.is_in(&text) {
            return listing;
        }
        let Ok(mut tools) = serde_json::from_str::<Vec<Tool>>(&self.sure.known_json(text)) else {
            return listing;
        };
        for (tool, declared) in tools.iter_mut().zip(&*listing.tools) {
            tool.name.clone_from(&declared.name);
        }
        Listing::new(listing.identity, tools.into(), listing.invalid)
    }

    pub(super) fn last_lines(&self, count: usize) -> Vec<LogLine> {
        lock(&self.lines).last(count)
    }

    pub(super) fn last_messages(&self, count: usize) -> Vec<WireLine> {
        lock(&self.wire).last(count)
    }
}

// Nothing panics while it holds one of these, so a poisoned one is sound.
fn lock<T>(ring: &Mutex<T>) -> MutexGuard<'_, T> {
    ring.lock().unwrap_or_else(PoisonError::into_inner)
}

fn cut(text: &mut String, bytes: usize) {
    if text.len() <= bytes {
        return;
    }
    let left = text.len() - bytes;
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    text.push_str(&format!("… ({left} more bytes)"));
}

/// Milliseconds since 1970-01-01 UTC.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    u64::try_from(since).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use switchboard_client::{Direction, WireMessage};

    use super::{LOG_BYTES, Listing, Logs, Tool, WIRE_BYTES};
    use crate::identity::Identity;
    use crate::name::ServerName;
    use crate::supervisor::{LogStream, Secret, ServerConfig, ServerTarget};

    fn logs() -> Logs {
        let mut config = ServerConfig::command(ServerName::new("s").unwrap(), "x", ["y"]);
        if let ServerTarget::Command { env, .. } = &mut config.target {
            env.push(("KEY".to_owned(), Secret::new("hunter2hunter2")));
            env.push(("Path".to_owned(), Secret::new("/usr/bin:/bin")));
        }
        config.secrets.push(Secret::new("of the keychain"));
        Logs::new(&config, None)
    }

    #[test]
    fn lines_are_masked_cut_and_bounded_and_the_latest_stay() {
        let logs = logs();
        logs.line(LogStream::Stderr, "the key is hunter2hunter2, not in /usr/bin:/bin".to_owned());
        assert_eq!(logs.last_lines(1)[0].text, "the key is ***, not in /usr/bin:/bin");
        logs.line(LogStream::Stderr, "it is of the keychain".to_owned());
        assert_eq!(logs.last_lines(1)[0].text, "it is ***");
        logs.line(LogStream::Stderr, format!("{}hunter2hunter2", "x".repeat(super::LINE_BYTES - 7)));
        assert!(!logs.last_lines(1)[0].text.contains("hunter"), "it is masked before it is cut");
        logs.line(LogStream::Stderr, "é".repeat(10_000));
        assert!(logs.last_lines(1)[0].text.ends_with("more bytes)"));
        for number in 0..10_000 {
            logs.line(LogStream::Noise, format!("line {number} {}", "x".repeat(100)));
        }
        let kept = logs.last_lines(usize::MAX);
        assert!(kept.last().unwrap().text.starts_with("line 9999"));
        assert!(kept.iter().map(|line| line.text.len()).sum::<usize>() <= LOG_BYTES);
        assert_eq!(logs.last_lines(2).len(), 2);
    }

    #[test]
    fn a_definition_that_repeats_a_secret_is_listed_without_it() {
        let tools = serde_json::json!([
            { "name": "hunter2hunter2", "description": "with hunter2hunter2", "inputSchema": { "type": "object" } },
            { "name": "b", "description": "a loud word", "inputSchema": { "type": "object" } },
        ]);
        let tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
        let implementation = Some("I was given hunter2hunter2".to_owned());
        let identity = Identity { implementation, revision: "DATE".to_owned(), session: false };
        let listing = Listing::new(identity, tools.into(), std::sync::Arc::default());
        let mut config = ServerConfig::command(ServerName::new("s").unwrap(), "x", ["y"]);
        config.secrets.push(Secret::new("hunter2hunter2"));
        if let ServerTarget::Command { env, .. } = &mut config.target {
            env.push(("STYLE".to_owned(), Secret::new("a loud word")));
        }
        let listed = Logs::new(&config, None).without_secrets(listing);
        assert_eq!(listed.identity.implementation.as_deref(), Some("I was given ***"));
        assert_eq!(listed.tools[0].name, "hunter2hunter2");
        assert_eq!(listed.tools[0].description.as_deref(), Some("with ***"));
        assert_eq!(listed.tools[1].description.as_deref(), Some("a loud word"), "it may be no secret");
    }

    #[test]
    fn messages_are_masked_by_member_and_long_ones_are_only_described() {
        let logs = logs();
        let see = |bytes: &[u8]| logs.message(WireMessage { direction: Direction::Sent, bytes });
        see(br#"{"id":1,"params":{"password":"p","text":"hunter2hunter2"}}"#);
        assert_eq!(logs.last_messages(1)[0].text, r#"{"id":1,"params":{"password":"***","text":"***"}}"#);
        see(format!("{{\"id\":1,\"token\":\"{}\"}}", "x".repeat(100_000)).as_bytes());
        let last = &logs.last_messages(1)[0];
        assert!(last.text.starts_with("a message of 100") && last.bytes > 100_000, "{}", last.text);
        (0..30).for_each(|_| see(&vec![b'x'; 60_000]));
        let kept: usize = logs.last_messages(usize::MAX).iter().map(|line| line.text.len()).sum();
        assert!(kept <= WIRE_BYTES);
    }
}
