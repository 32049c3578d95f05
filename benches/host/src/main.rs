//! A server for the bench of the host: many tools with parameters of the usual kinds, and one with a large result.
//!
//! `bench-host http TOOLS` or `bench-host stdio TOOLS`.

use std::error::Error;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_server::{Args, Limits, Server, Tool};

/// What is looked for.
#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// The words that must occur, in any order
    query: String,
    /// How many are given at most
    limit: Option<u32>,
    /// How they are sorted
    order: Option<Order>,
    /// When it must have happened
    during: Option<Period>,
    /// What it must be tagged with
    #[serde(default)]
    tags: Vec<String>,
}

/// A sort order.
#[derive(Deserialize, JsonSchema)]
enum Order {
    Newest,
    Oldest,
    Best,
}

/// From one day to another.
#[derive(Deserialize, JsonSchema)]
struct Period {
    /// The first day, such as 2026-02-01
    from: String,
    /// The last day; open if absent
    to: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Size {
    /// How many bytes
    bytes: usize,
}

async fn find(Args(wanted): Args<Wanted>) -> String {
    let Wanted { query, limit, order, during, tags } = wanted;
    let order = match order {
        Some(Order::Oldest) => "oldest",
        Some(Order::Best) => "best",
        Some(Order::Newest) | None => "newest",
    };
    let period = during.map(|period| format!("{} to {}", period.from, period.to.unwrap_or_default()));
    format!("{query}: {limit:?} {order} {period:?} {tags:?}")
}

/// Lines that say where they are: each begins at the byte that it names.
async fn large(Args(size): Args<Size>) -> String {
    let mut text = String::with_capacity(size.bytes + LINE);
    while text.len() < size.bytes {
        text.push_str(&format!("byte {:>12} of the text\n", text.len()));
    }
    text.truncate(size.bytes);
    text
}

/// The length of such a line.
const LINE: usize = 30;

fn server(count: usize) -> Result<Server, Box<dyn Error>> {
    let limits = Limits { page_size: 1_000, ..Limits::default() };
    let mut builder = Server::builder("bench-host", "0.1.0").limits(limits);
    for index in 0..count.saturating_sub(1) {
        let tool = Tool::new(format!("find_{index:03}"), find);
        builder = builder
            .tool(tool.describe("Finds entries by their words, newest first, within a period").read_only());
    }
    builder = builder.tool(Tool::new("large", large).describe("Gives a text of so many bytes").read_only());
    Ok(builder.build(())?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["http", tools] => {
            let serving = server(tools.parse()?)?.http().bind("127.0.0.1:0").await?;
            eprintln!("listening on {}", serving.url());
            serving.run_until(switchboard_server::until_signal()).await;
        }
        ["stdio", tools] => server(tools.parse()?)?.serve_stdio().await?,
        _ => return Err("usage: bench-host http|stdio TOOLS".into()),
    }
    Ok(())
}
