//! The load: closed loops over blocking sockets and pipes, every answer checked.
//!
//! One thread keeps a fixed number of requests in flight: it sends on every connection, then reads the
//! answers in the same order, and sends again on each that was read.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

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
}

impl Load {
    pub(crate) const fn http(call: Call, width: usize) -> Self {
        Self { call, width, tools: 0, over_stdio: false }
    }

    pub(crate) const fn stdio(call: Call, width: usize) -> Self {
        Self { call, width, tools: 0, over_stdio: true }
    }

    pub(crate) const fn of_tools(self, tools: usize) -> Self {
        Self { tools, ..self }
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
    fn message(self) -> String {
        let mut params = json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "1.0.0" },
            "io.modelcontextprotocol/clientCapabilities": {},
        } });
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
        open.push(Connection::open(address, call)?);
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
                let body = connection.receive()?;
                // Parsing every answer would make the load dearer than the server.
                if done.is_multiple_of(97) {
                    call.check(&body, id)?;
                }
                done += 1;
                connection.send_next(&mut next, last)?;
            }
        }
    }
    Ok(())
}

struct Connection {
    stream: BufReader<TcpStream>,
    request: Vec<u8>,
    id_offset: usize,
    waiting: Option<u64>,
}

impl Connection {
    fn open(address: &str, call: Call) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        let body = call.message();
        let (method, length) = (call.method(), body.len());
        let name = call.tool().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\n{name}Content-Length: {length}\r\n\r\n"
        );
        let id_offset = head.len() + ID_OFFSET;
        let request = [head.into_bytes(), body.into_bytes()].concat();
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), request, id_offset, waiting: None })
    }

    fn send_next(&mut self, next: &mut u64, last: u64) -> Result<()> {
        if *next < last {
            put_id(&mut self.request, self.id_offset, *next);
            self.stream.get_mut().write_all(&self.request)?;
            self.waiting = Some(*next);
            *next += 1;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut length = None;
        self.stream.read_until(b'\n', &mut line)?;
        ensure!(line.starts_with(b"HTTP/1.1 200"), "refused: {}", String::from_utf8_lossy(&line));
        loop {
            line.clear();
            self.stream.read_until(b'\n', &mut line)?;
            if line == b"\r\n" {
                break;
            }
            let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
            if let Some(value) = text.strip_prefix("content-length:") {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        let Some(length) = length else { bail!("an answer without Content-Length") };
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}

/// Sends `requests` over a pipe, as many in flight as the load is wide.
///
/// # Errors
/// When the pipe ends early or an answer is wrong.
pub(crate) fn stdio(mut input: impl Write, output: impl Read, load: Load, requests: usize) -> Result<()> {
    let Load { call, width, .. } = load;
    let mut output = BufReader::with_capacity(1 << 16, output);
    let mut message = call.message().into_bytes();
    message.push(b'\n');
    let (mut sent, mut done) = (0, 0);
    let mut batch = Vec::new();
    let mut line = Vec::new();
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
