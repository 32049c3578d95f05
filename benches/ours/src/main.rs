//! Our server with the same tools, as the README writes one.
//!
//! `bench-ours http PORT [TOOLS]` or `bench-ours stdio [TOOLS]`.

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{Args, Limits, Server, Tool};

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// text to echo
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    size: usize,
}

async fn echo(Args(asked): Args<Text>) -> String {
    asked.text
}

async fn len(Args(asked): Args<Text>) -> String {
    asked.text.len().to_string()
}

async fn blob(Args(asked): Args<Size>) -> String {
    "x".repeat(asked.size)
}

fn server(count: usize) -> Result<Server, Box<dyn Error>> {
    // One page, as the others answer: the comparison is about the same bytes.
    let limits = Limits { page_size: 10_000, ..Limits::default() };
    let mut builder = Server::builder("bench", "0.1.0").limits(limits);
    if count == 0 {
        builder = builder
            .tool(Tool::new("echo", echo).describe("Return the text unchanged"))
            .tool(Tool::new("len", len).describe("Length of the text"))
            .tool(Tool::new("blob", blob).describe("Return so many bytes of text"));
    }
    for index in 0..count {
        builder =
            builder.tool(Tool::new(format!("tool_{index:04}"), echo).describe("Return the text unchanged"));
    }
    Ok(builder.build(())?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    match arguments.first().map(String::as_str) {
        Some("http") => {
            let serving = server(number(2))?.http().bind(&format!("127.0.0.1:{}", number(1))).await?;
            eprintln!("listening on {}", serving.local_addr());
            serving.run_until(switchboard_server::until_signal()).await;
        }
        Some("stdio") => server(number(1))?.serve_stdio().await?,
        _ => return Err("usage: bench-ours http PORT [TOOLS] | stdio [TOOLS]".into()),
    }
    Ok(())
}
