//! Where nobody set up a log, the cause behind a reference is on standard error.
//!
//! A subscriber is set for a whole process, so each case is a process: this test again, which then serves.

use std::env;
use std::process::Command;

use anyhow::Context;
use serde_json::json;
use switchboard_server::{Ctx, Json, Say, Server, Tool, ToolError};
use tracing::subscriber::{NoSubscriber, set_global_default};

use crate::calls::{call, text};

const CHILD: &str = "SWITCHBOARD_TEST_UNLOGGED";
const NAME: &str = "unlogged::the_cause_behind_a_reference_is_on_standard_error_unless_there_is_a_log";

fn read() -> anyhow::Result<String> {
    Err(std::io::Error::other("no\nsuch \u{1b}[31mdisk")).context("the ledger cannot be read")
}

async fn fails() -> Result<Json<i64>, ToolError> {
    Ok(Json("many".parse()?))
}

async fn boxed() -> Result<String, ToolError> {
    read().map_err(ToolError::internal)
}

async fn says() -> Result<String, ToolError> {
    read().say("try again tomorrow")
}

async fn panics(ctx: Ctx) {
    assert!(ctx.is_cancelled(), "it is not over");
}

async fn breaks() -> Json<std::collections::HashMap<Vec<u8>, u8>> {
    Json([(vec![1], 1)].into())
}

/// Tool, and what the log is to say about its failure.
const CASES: [(&str, &str); 5] = [
    ("fails", "invalid digit found in string"),
    ("boxed", r"the ledger cannot be read: no\nsuch \u{1b}[31mdisk"),
    ("panics", "a handler panicked: it is not over"),
    ("breaks", "key must be a string"),
    ("says", ""),
];

#[expect(clippy::print_stdout, reason = "how a child tells its parent")]
async fn serve(way: &str) {
    if way == "logged" {
        set_global_default(NoSubscriber::new()).unwrap();
    }
    let server = Server::builder("unlogged", "1")
        .tool(Tool::new("fails", fails))
        .tool(Tool::new("boxed", boxed))
        .tool(Tool::new("says", says))
        .tool(Tool::new("panics", panics))
        .tool(Tool::new("breaks", breaks))
        .build(())
        .unwrap();
    for (tool, _) in CASES {
        println!("\n{tool}: {}", text(&call(&server, tool, json!({})).await));
    }
}

/// What the child told its callers, and the references on its standard error.
fn run(way: &str) -> (String, Vec<String>) {
    let mut child = Command::new(env::current_exe().unwrap());
    let out = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, way).output().unwrap();
    let (told, log) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert!(out.status.success(), "{told}{log}");
    (told, log.lines().filter(|line| line.starts_with("reference ")).map(str::to_owned).collect())
}

#[tokio::test]
async fn the_cause_behind_a_reference_is_on_standard_error_unless_there_is_a_log() {
    if let Ok(way) = env::var(CHILD) {
        return serve(&way).await;
    }
    assert_eq!(run("logged").1, Vec::<String>::new());
    let (told, log) = run("unlogged");
    let mut expected = Vec::new();
    for (tool, cause) in CASES {
        let line = told.lines().find(|line| line.starts_with(&format!("{tool}: "))).unwrap();
        match line.rsplit_once("internal error, reference ") {
            Some((_, reference)) => expected.push(format!("reference {reference}: {cause}")),
            None => assert_eq!(line, "says: failed: try again tomorrow"),
        }
    }
    assert_eq!(expected.len(), 4, "{told}");
    assert_eq!(log, expected);
}
