//! The smallest HTTP server of two tools without any library of the protocol: the floor of the build times.

use std::convert::Infallible;
use std::io;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    name: &'a str,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Pair {
    a: i64,
    b: i64,
}

#[derive(Serialize)]
struct Answer<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: String,
}

fn answer(body: &[u8]) -> Option<Vec<u8>> {
    let message: Message<'_> = serde_json::from_slice(body).ok()?;
    let arguments = message.params.arguments.get();
    let result = match message.params.name {
        "echo" => serde_json::from_str::<Text>(arguments).ok()?.text,
        "add" => serde_json::from_str::<Pair>(arguments).map(|pair| (pair.a + pair.b).to_string()).ok()?,
        _ => return None,
    };
    serde_json::to_vec(&Answer { jsonrpc: "2.0", id: message.id, result }).ok()
}

async fn serve(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    Ok(Response::new(Full::from(answer(&body).unwrap_or_default())))
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 8000)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(serve)));
    }
}
