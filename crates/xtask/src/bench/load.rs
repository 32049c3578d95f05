//! The load: closed loops over blocking sockets and pipes, every answer checked.
//!
//! One thread keeps a fixed number of requests in flight: it sends on every connection, then reads the
//! answers in the same order, and sends again on each that was read.

use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::legacy;
use super::wire::{Answer, Wire};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// A small call.
    Echo,
    /// The same, where the tool is one of many.
    EchoOfMany,
    /// 1 MB goes in.
    Length,
    /// 1 MB comes out.
    Blob,
    /// The list of tools.
    List,
}

/// A load: what is asked, of how many tools, over what, and how many at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) call: Call,
    /// Connections, or requests in flight on the pipe.
    pub(crate) width: usize,
    /// How many tools the server offers; 0 means the usual few.
    pub(crate) tools: usize,
    pub(crate) over_stdio: bool,
    /// Whether each connection opens a session first. Over stdio such a load can be run once.
    pub(crate) in_session: bool,
}

impl Load {
    pub(crate) const fn http(call: Call, width: usize) -> Self {
        Self { call, width, tools: 0, over_stdio: false, in_session: false }
    }

    pub(crate) const fn stdio(call: Call, width: usize) -> Self {
        Self { call, width, tools: 0, over_stdio: true, in_session: false }
    }

    pub(crate) const fn of_tools(self, tools: usize) -> Self {
        Self { tools, ..self }
    }

    /// The same, asked in a session of the legacy era.
    pub(crate) const fn in_session(self) -> Self {
        Self { in_session: true, ..self }
    }
}

/// What a timed run saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    pub(crate) cpu_seconds_per_100k: f64,
    pub(crate) per_second: f64,
}

const MEGABYTE: usize = 1_000_000;

impl Call {
    fn method(self) -> &'static str {
        if matches!(self, Self::List) { "tools/list" } else { "tools/call" }
    }

    fn tool(self) -> Option<&'static str> {
        match self {
            Self::Echo => Some("echo"),
            Self::EchoOfMany => Some("tool_0000"),
            Self::Length => Some("len"),
            Self::Blob => Some("blob"),
            Self::List => None,
        }
    }

    /// The message, with an id of nine digits that is replaced in place.
    fn message(self, in_session: bool) -> String {
        let mut params = json!({});
        if !in_session {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1.0.0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        if let Some(name) = self.tool() {
            params["name"] = name.into();
            params["arguments"] = match self {
                Self::Length => json!({ "text": "y".repeat(MEGABYTE) }),
                Self::Blob => json!({ "size": MEGABYTE }),
                _ => json!({ "text": "hello world" }),
            };
        }
        let method = self.method();
        format!(r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"{method}","params":{params}}}"#)
    }

    fn check(self, body: &[u8], id: u64) -> Result<()> {
        let big = body.len() > 100_000;
        let text = String::from_utf8_lossy(if big { &body[..200] } else { body });
        let has_id = body.len() > 100_000 || text.contains(&id.to_string());
        let expected = match self {
            Self::Echo | Self::EchoOfMany => text.contains("hello world"),
            Self::Length => text.contains("\"1000000\""),
            Self::Blob => body.len() > MEGABYTE,
            Self::List => text.contains("inputSchema"),
        };
        ensure!(has_id && expected, "a wrong answer to {self:?} {id}: {text:.300}");
        if !big {
            let answer: Value = serde_json::from_slice(body).context("an answer that is no JSON")?;
            ensure!(answer["id"] == id, "the answer to {id} carries the id {}", answer["id"]);
        }
        Ok(())
    }
}

const FIRST_ID: u64 = 100_000_000;
const ID_OFFSET: usize = r#"{"jsonrpc":"2.0","id":"#.len();

fn put_id(message: &mut [u8], offset: usize, id: u64) {
    message[offset..offset + 9].copy_from_slice(id.to_string().as_bytes());
}

/// Sends `requests` over as many connections as the load is wide, one in flight on each.
///
/// # Errors
/// When a connection fails or an answer is wrong.
pub(crate) fn http(address: &str, load: Load, requests: usize) -> Result<()> {
    let Load { call, width, .. } = load;
    let mut open = Vec::with_capacity(width);
    for _ in 0..width {
        open.push(Connection::open(address, load)?);
    }
    let mut next = FIRST_ID;
    let last = FIRST_ID + requests as u64;
    for connection in &mut open {
        connection.send_next(&mut next, last)?;
    }
    let mut done = 0;
    while done < requests {
        for connection in &mut open {
            if let Some(id) = connection.waiting.take() {
                let answer = connection.receive()?;
                // Parsing every answer would make the load dearer than the server.
                if done.is_multiple_of(97) {
                    call.check(answer.message(), id)?;
                }
                done += 1;
                connection.send_next(&mut next, last)?;
            }
        }
    }
    Ok(())
}

struct Connection {
    wire: Wire,
    request: Vec<u8>,
    id_offset: usize,
    waiting: Option<u64>,
}

impl Connection {
    fn open(address: &str, load: Load) -> Result<Self> {
        let Load { call, in_session, .. } = load;
        let mut wire = Wire::open(address)?;
        let (method, body) = (call.method(), call.message(in_session));
        let headers = if in_session {
            legacy::open(&mut wire, address)?
        } else {
            let name = call.tool().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
            format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
        };
        let head = head(address, &headers, body.len());
        let id_offset = head.len() + ID_OFFSET;
        let request = [head.into_bytes(), body.into_bytes()].concat();
        Ok(Self { wire, request, id_offset, waiting: None })
    }

    fn send_next(&mut self, next: &mut u64, last: u64) -> Result<()> {
        if *next < last {
            put_id(&mut self.request, self.id_offset, *next);
            self.wire.send(&self.request)?;
            self.waiting = Some(*next);
            *next += 1;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Answer> {
        let answer = self.wire.receive()?;
        ensure!(
            answer.status == 200,
            "refused: {} {}",
            answer.status,
            String::from_utf8_lossy(answer.message())
        );
        Ok(answer)
    }
}

/// The head of a POST to the endpoint; `headers` are what else it says, each with its line end.
pub(crate) fn head(address: &str, headers: &str, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n"
    )
}

/// Sends `requests` over a pipe, as many in flight as the load is wide.
///
/// # Errors
/// When the pipe ends early or an answer is wrong.
pub(crate) fn stdio(mut input: impl Write, output: impl Read, load: Load, requests: usize) -> Result<()> {
    let Load { call, width, in_session, .. } = load;
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut message = call.message(in_session).into_bytes();
    message.push(b'\n');
    let (mut sent, mut done) = (0, 0);
    let mut batch = Vec::new();
    let mut line = Vec::new();
    if in_session {
        input.write_all(format!("{}\n", legacy::initialize("{}")).as_bytes())?;
        ensure!(output.read_until(b'\n', &mut line)? > 0, "the server closed its output early");
        input.write_all(format!("{}\n", legacy::INITIALIZED).as_bytes())?;
    }
    while done < requests {
        batch.clear();
        while sent < requests && sent - done < width {
            put_id(&mut message, ID_OFFSET, FIRST_ID + sent as u64);
            batch.extend_from_slice(&message);
            sent += 1;
        }
        input.write_all(&batch)?;
        loop {
            line.clear();
            ensure!(output.read_until(b'\n', &mut line)? > 0, "the server closed its output early");
            if done.is_multiple_of(97) {
                let answer: Value = serde_json::from_slice(&line).context("an answer that is no JSON")?;
                ensure!(answer["result"]["content"][0]["text"] == "hello world", "a wrong answer: {answer}");
            }
            done += 1;
            if !output.buffer().contains(&b'\n') {
                break;
            }
        }
    }
    Ok(())
}
