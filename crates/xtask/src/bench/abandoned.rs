//! Modern exchanges that their client leaves, and what it takes to leave one.
//!
//! A script begins something and goes away; the server is told nothing. Scripts of the legacy era are in
//! `legacy/abandoned.rs`; `soak.rs` plays them.

use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::load;
use super::wire::{Answer, Wire};

/// One way to leave. A script is played many times, by many visitors at once.
pub(crate) type Script = fn(&mut Visitor) -> Result<()>;

/// How long to wait where the server has no place at the moment.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a request has to arrive before it is left.
const MOMENT: Duration = Duration::from_millis(1);

/// What a client says of itself.
const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}"#;

/// One client after the other, on one thread.
#[derive(Debug)]
pub(crate) struct Visitor {
    pub(crate) address: String,
    /// Different for everything that is begun.
    pub(crate) number: u64,
    /// How often there was no place.
    pub(crate) busy: u64,
    /// A connection that nothing went wrong on.
    kept: Option<Wire>,
}

impl Visitor {
    pub(crate) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), number: 0, busy: 0, kept: None }
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> Result<Wire> {
        Wire::open(&self.address)
    }

    /// A whole exchange, on a connection that is there already.
    pub(crate) fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        loop {
            let mut wire = match self.kept.take() {
                Some(wire) => wire,
                None => self.connect()?,
            };
            wire.send(request)?;
            let answer = wire.receive()?;
            self.kept = Some(wire);
            if answer.status != 503 {
                return Ok(answer);
            }
            self.wait();
        }
    }

    /// Begins an exchange on a connection of its own, and waits until the server has said this.
    pub(crate) fn begin(&mut self, request: &[u8], word: &str) -> Result<(Wire, Vec<u8>)> {
        loop {
            let mut wire = self.connect()?;
            wire.send(request)?;
            match wire.receive_until(word) {
                Ok((_, said)) => return Ok((wire, said)),
                Err(error) if error.to_string().contains("status 503") => self.wait(),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a request on a connection of its own and leaves.
    pub(crate) fn leave_at_once(&self, request: &[u8]) -> Result<()> {
        let mut wire = self.connect()?;
        wire.send(request)?;
        thread::sleep(MOMENT);
        wire.leave()
    }

    fn wait(&mut self) {
        self.busy += 1;
        thread::sleep(PAUSE);
    }

    fn post(&self, method: &str, name: &str, params: &str) -> Vec<u8> {
        let body = message(self.number, method, params);
        [self.head(method, name, body.len()).as_bytes(), body.as_bytes()].concat()
    }

    fn call(&self, tool: &str) -> Vec<u8> {
        self.post("tools/call", tool, &format!(r#""name":"{tool}","arguments":{{}}"#))
    }

    fn head(&self, method: &str, name: &str, length: usize) -> String {
        let name = if name.is_empty() { String::new() } else { format!("Mcp-Name: {name}\r\n") };
        let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
        load::head(&self.address, &headers, length)
    }
}

/// A modern request; `params` are its members but `_meta`.
pub(crate) fn message(id: u64, method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{META},"progressToken":{id}}},{params}}}}}"#
    )
}

/// What a client that listens asks for.
const LISTEN: &str = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["soak://one"]}"#;

/// Over HTTP.
pub(crate) const EXCHANGES: &[Script] = &[
    // The head is not complete.
    |visitor| {
        let head = visitor.head("tools/call", "echo", 100);
        visitor.leave_at_once(&head.as_bytes()[..head.len() - 2])
    },
    // Half of a small body.
    |visitor| {
        let request = visitor.call("echo");
        visitor.leave_at_once(&request[..request.len() - 20])
    },
    // The first of many pieces of a large body.
    |visitor| {
        let mut request = visitor.head("tools/call", "echo", 1_000_000).into_bytes();
        request.resize(request.len() + 20_000, b' ');
        visitor.leave_at_once(&request)
    },
    // The handler runs.
    |visitor| visitor.leave_at_once(&visitor.call("wait")),
    // The event stream has begun.
    |visitor| {
        let request = visitor.call("speak");
        visitor.begin(&request, "notifications/progress").map(drop)
    },
    // The question was asked, and is never answered.
    |visitor| {
        let request = visitor.call("ask");
        let answer = visitor.ask(&request)?;
        let said = String::from_utf8_lossy(answer.message());
        ensure!(said.contains("requestState"), "no question: {} {said}", answer.status);
        Ok(())
    },
    // The subscription has begun, and something was told or not.
    |visitor| {
        let request = visitor.post("subscriptions/listen", "", LISTEN);
        let (mut wire, _) = visitor.begin(&request, "subscriptions/acknowledged")?;
        if visitor.number.is_multiple_of(4) {
            wire.go_on_until("list_changed")?;
        }
        Ok(())
    },
];

/// Over pipes that break.
pub(crate) const IN_PIPES: &[Script] = &[
    // Half a line.
    |visitor| {
        let line = message(visitor.number, "tools/call", r#""name":"echo","arguments":{"text":"x"}"#);
        visitor.leave_at_once(&line.as_bytes()[..line.len() / 2])
    },
    |visitor| left_in_pipe(visitor, "tools/call", (r#""name":"wait","arguments":{}"#, "")),
    |visitor| {
        left_in_pipe(visitor, "tools/call", (r#""name":"speak","arguments":{}"#, "notifications/progress"))
    },
    |visitor| left_in_pipe(visitor, "tools/call", (r#""name":"ask","arguments":{}"#, "requestState")),
    |visitor| left_in_pipe(visitor, "subscriptions/listen", (LISTEN, "subscriptions/acknowledged")),
];

fn left_in_pipe(visitor: &mut Visitor, method: &str, (params, word): (&str, &str)) -> Result<()> {
    let line = message(visitor.number, method, params) + "\n";
    let mut wire = visitor.connect()?;
    wire.send(line.as_bytes())?;
    if word.is_empty() {
        // A server waits for what runs; it is not waited for in turn.
        thread::sleep(MOMENT);
        return Ok(());
    }
    let said = wire.line()?;
    ensure!(said.contains(word), "{word:?} was not said, but {said}");
    Ok(())
}
