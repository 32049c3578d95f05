//! Four small tools over HTTP or stdio: what the benchmarks measure, and a program to read.
//!
//! ```text
//! echo_http http PORT [VARIANT [N]]    serves 127.0.0.1:PORT/mcp
//! echo_http stdio [VARIANT [N]]        serves standard input and output
//! ```
//!
//! With N it offers N tools `tool_0000` and so on, which all echo. The variant is `tuned`; it is there
//! for programs that drive several servers alike.

use std::error::Error;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_server::{Args, Json, Server, Tool, until_signal};

/// A text.
#[derive(Deserialize, JsonSchema)]
struct Text {
    /// text to echo
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Summands {
    a: i64,
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    result: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    size: usize,
}

async fn echo(Args(Text { text }): Args<Text>) -> String {
    text
}

async fn add(Args(Summands { a, b }): Args<Summands>) -> Json<Sum> {
    Json(Sum { result: a.wrapping_add(b) })
}

async fn blob(Args(Size { size }): Args<Size>) -> String {
    "x".repeat(size.min(16 << 20))
}

async fn len(Args(Text { text }): Args<Text>) -> String {
    text.len().to_string()
}

fn server(many: usize) -> Result<Server, Box<dyn Error>> {
    let mut builder = Server::builder("echo", "1.0.0");
    for index in 0..many {
        let tool = Tool::new(format!("tool_{index:04}"), echo).describe("Return the text unchanged");
        builder = builder.tool(tool.read_only());
    }
    if many == 0 {
        builder = builder
            .tool(Tool::new("echo", echo).describe("Return the text unchanged").read_only())
            .tool(Tool::new("add", add).describe("Add two integers").read_only())
            .tool(Tool::new("blob", blob).describe("Return `size` bytes of text").read_only())
            .tool(Tool::new("len", len).describe("Length of the text").read_only());
    }
    Ok(builder.build(())?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let count = |text: Option<&&str>| text.map_or(Ok(0), |text| text.parse());
    match arguments.as_slice() {
        ["http", port, rest @ ..] => {
            let server = server(count(rest.get(1))?)?;
            let serving = server.http().bind(("127.0.0.1", port.parse()?)).await?;
            eprintln!("listening on {}", serving.url());
            serving.run_until(until_signal()).await;
        }
        ["stdio", rest @ ..] => server(count(rest.get(1))?)?.serve_stdio().await?,
        _ => return Err("usage: echo_http http PORT [VARIANT [N]] | stdio [VARIANT [N]]".into()),
    }
    Ok(())
}
