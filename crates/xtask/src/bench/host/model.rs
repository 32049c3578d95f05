//! A model that plays a script and says when it was asked and when it spoke, by the clock of whoever measures.
//!
//! It speaks the wire of chat completions, one connection after another, over blocking sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

/// How long it thinks before its first token: whoever asked has nothing left to do by then.
const THINKS: Duration = Duration::from_millis(30);

/// Words of an answer, and the time between two of them.
const WORDS: usize = 20;
const PACE: Duration = Duration::from_millis(2);

/// What it answers.
#[derive(Debug)]
pub(super) enum Turn {
    /// Some words.
    Say,
    /// A call of the tool with this name.
    Call(String, Value),
}

/// What is answered to a request.
type Script = Box<dyn FnMut(&Value) -> Turn + Send>;

/// A request, and what became of it.
#[derive(Debug)]
pub(super) struct Asked {
    /// When its first byte had come.
    pub(super) at: Instant,
    /// When the answer's first token was given to the system.
    pub(super) first_token: Instant,
    /// The length of the body.
    pub(super) bytes: usize,
    pub(super) body: Value,
}

/// A running model. It ends with the process.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) base_url: String,
    asked: Receiver<Asked>,
}

impl Model {
    /// Listens on a free port.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn start(script: impl FnMut(&Value) -> Turn + Send + 'static) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let (tx, asked) = mpsc::channel();
        let mut script: Script = Box::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if let Err(error) = answer(stream, &mut script, &tx) {
                    eprintln!("the model: {error:#}");
                }
            }
        });
        Ok(Self { base_url, asked })
    }

    /// One that only speaks.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(super) fn that_speaks() -> Result<Self> {
        Self::start(|_| Turn::Say)
    }

    /// The next request that was answered.
    ///
    /// # Errors
    /// When none comes.
    pub(super) fn next(&self) -> Result<Asked> {
        self.asked.recv_timeout(Duration::from_secs(60)).context("the model was not asked")
    }
}

/// The content of the last message, where that is the result of a call.
pub(super) fn last_result(body: &Value) -> Option<&str> {
    let last = body["messages"].as_array()?.last()?;
    if last["role"] == "tool" { last["content"].as_str() } else { None }
}

/// The name of a tool that is offered and ends like this.
pub(super) fn offered<'a>(body: &'a Value, ending: &str) -> Option<&'a str> {
    let names = body["tools"].as_array()?.iter().filter_map(|tool| tool["function"]["name"].as_str());
    names.into_iter().find(|name| name.ends_with(ending))
}

fn answer(stream: TcpStream, script: &mut Script, asked: &Sender<Asked>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    let first = reader.fill_buf()?.len();
    let at = Instant::now();
    ensure!(first > 0, "the connection was closed before anything was asked");
    let body = body(&mut reader)?;
    let bytes = body.len();
    let body: Value = serde_json::from_slice(&body)?;
    let turn = script(&body);
    write!(writer, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    delta(&mut writer, &json!({ "role": "assistant", "content": "" }), None)?;
    thread::sleep(THINKS);
    let first_token = Instant::now();
    let finish = match turn {
        Turn::Say => {
            for _ in 0..WORDS {
                delta(&mut writer, &json!({ "content": "word " }), None)?;
                thread::sleep(PACE);
            }
            "stop"
        }
        Turn::Call(name, arguments) => {
            let function = json!({ "name": name, "arguments": arguments.to_string() });
            let call = json!({ "index": 0, "id": "call_1", "type": "function", "function": function });
            delta(&mut writer, &json!({ "tool_calls": [call] }), None)?;
            "tool_calls"
        }
    };
    delta(&mut writer, &json!({}), Some(finish))?;
    writer.write_all(b"data: [DONE]\n\n")?;
    // Whoever measures may have seen enough.
    let _ = asked.send(Asked { at, first_token, bytes, body });
    Ok(())
}

fn delta(writer: &mut impl Write, delta: &Value, finish: Option<&str>) -> Result<()> {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    // In one piece, or the second half waits for the first to be acknowledged.
    writer.write_all(format!("data: {chunk}\n\n").as_bytes())?;
    Ok(())
}

fn body(reader: &mut BufReader<TcpStream>) -> Result<Vec<u8>> {
    let mut length = None;
    let mut line = String::new();
    loop {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the head of the request is cut off");
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = Some(value.trim().parse()?);
        }
    }
    let mut body = vec![0; length.context("the request does not say how long it is")?];
    reader.read_exact(&mut body)?;
    Ok(body)
}
