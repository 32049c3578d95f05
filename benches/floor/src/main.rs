//! The floor: what a correct server must do at least, written by hand on bare hyper or a blocking
//! loop, with no library of the protocol. Every ratio of the bench is taken against it.
//!
//! `bench-floor http PORT [TOOLS]` or `bench-floor stdio [TOOLS]`; with a number of tools it offers
//! so many that echo, named `tool_0000` and on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, default)]
    name: Option<&'a str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: &'a str,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: &'a RawValue,
}

#[derive(Deserialize)]
struct Text<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Size {
    size: usize,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: CallResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    result_type: &'static str,
    content: [Block<'a>; 1],
}

#[derive(Serialize)]
struct Block<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Clone, Copy)]
enum Tool {
    Echo,
    Length,
    Blob,
}

struct Floor {
    tools: HashMap<String, Tool>,
    list: Vec<u8>,
}

impl Floor {
    fn new(count: usize) -> Self {
        let text = json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "text to echo" } },
            "required": ["text"],
        });
        let size = json!({ "type": "object", "properties": { "size": { "type": "integer" } }, "required": ["size"] });
        let named: Vec<(String, Tool, _)> = if count == 0 {
            vec![
                ("echo".into(), Tool::Echo, text.clone()),
                ("len".into(), Tool::Length, text),
                ("blob".into(), Tool::Blob, size),
            ]
        } else {
            (0..count).map(|index| (format!("tool_{index:04}"), Tool::Echo, text.clone())).collect()
        };
        let describe = |(name, _, schema): &(String, Tool, serde_json::Value)| json!({ "name": name, "description": "Return the text unchanged", "inputSchema": schema });
        let list: Vec<_> = named.iter().map(describe).collect();
        let list = json!({ "resultType": "complete", "tools": list, "ttlMs": 0, "cacheScope": "private" });
        Self {
            list: list.to_string().into_bytes(),
            tools: named.into_iter().map(|(name, tool, _)| (name, tool)).collect(),
        }
    }

    fn answer(&self, headers: Option<&HeaderMap>, body: &[u8]) -> Option<Vec<u8>> {
        let message: Message<'_> = serde_json::from_slice(body).ok()?;
        let header = |name| headers.map(|headers| headers.get(name).map(HeaderValue::as_bytes));
        let agrees =
            |name, value: Option<&str>| header(name).is_none_or(|sent| sent == value.map(str::as_bytes));
        let params = &message.params;
        let sound = message.jsonrpc == "2.0"
            && params.meta.capabilities.get().starts_with('{')
            && agrees("mcp-protocol-version", Some(params.meta.version))
            && agrees("mcp-method", Some(message.method))
            && agrees("mcp-name", params.name);
        if !sound {
            return None;
        }
        if message.method == "tools/list" {
            let mut out = Vec::with_capacity(self.list.len() + 64);
            out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            out.extend_from_slice(message.id.get().as_bytes());
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(&self.list);
            out.push(b'}');
            return Some(out);
        }
        let arguments = params.arguments?.get();
        match self.tools.get(params.name?)? {
            Tool::Echo => reply(message.id, &serde_json::from_str::<Text<'_>>(arguments).ok()?.text),
            Tool::Length => {
                let length = serde_json::from_str::<Text<'_>>(arguments).ok()?.text.len();
                reply(message.id, &length.to_string())
            }
            Tool::Blob => reply(message.id, &"x".repeat(serde_json::from_str::<Size>(arguments).ok()?.size)),
        }
    }
}

fn reply(id: &RawValue, text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(160 + text.len());
    let content = [Block { r#type: "text", text }];
    let result = CallResult { result_type: "complete", content };
    serde_json::to_writer(&mut out, &Answer { jsonrpc: "2.0", id, result }).ok()?;
    Some(out)
}

async fn serve(floor: Arc<Floor>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let answer = floor.answer(Some(&parts.headers), &body);
    let status = if answer.is_some() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let mut response = Response::new(Full::from(answer.unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

#[tokio::main]
async fn http(port: u16, floor: Arc<Floor>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let floor = Arc::clone(&floor);
        let service = service_fn(move |request| serve(Arc::clone(&floor), request));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

fn stdio(floor: &Floor) -> io::Result<()> {
    let mut input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(&floor.answer(None, &line).unwrap_or_default())?;
        output.write_all(b"\n")?;
        line.clear();
        if !input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("http") => {
            let port = number(1).and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
            http(port, Arc::new(Floor::new(number(2).unwrap_or(0))))
        }
        Some("stdio") => stdio(&Floor::new(number(1).unwrap_or(0))),
        _ => Err(io::Error::other("usage: bench-floor http PORT [TOOLS] | stdio [TOOLS]")),
    }
}
