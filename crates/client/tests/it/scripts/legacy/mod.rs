//! The same scripts in a session: what a caller sees does not depend on how the server was found.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_client::{Era, Pipe};
use switchboard_testkit::scripted_http::{Reply, ScriptedHttp};

use super::format::{Played, Script};
use super::play::{End, Heard, Play, Replies, play};
use super::{file, runtimes};
use crate::legacy::peer::{NEWEST, peer, result};
use crate::support::tool;

/// Plays a file in sessions. Results say what results of that era say, or also how long they are good, which
/// a server may do in any era.
fn check(text: &str, keeps_hints: bool) {
    let (real, paused) = runtimes();
    for mut script in file(text).scripts.into_iter().filter(|script| script.modern.is_none()) {
        script.replies.iter_mut().for_each(|(_, played)| strip(played, keeps_hints));
        if script.only.as_deref() != Some("pipe") {
            real.block_on(over_http(&script));
        }
        if script.only.as_deref() != Some("http") {
            paused.block_on(over_a_pipe(&script));
        }
    }
}

fn strip(played: &mut Played, keeps_hints: bool) {
    let strip = |result: &mut Value| {
        let Some(members) = result.as_object_mut() else { return };
        members.retain(|name, _| match name.as_str() {
            "resultType" => false,
            "ttlMs" | "cacheScope" => keeps_hints,
            _ => true,
        });
    };
    match played {
        Played::Result(result) => strip(result),
        Played::Messages(messages) => {
            messages.iter_mut().filter_map(|message| message.get_mut("result")).for_each(strip);
        }
        _ => {}
    }
}

async fn over_http(script: &Script) {
    let steps = script.replies.iter().map(|(method, played)| (method.clone(), played.reply()));
    let mut server = ScriptedHttp::play(steps)
        .await
        .of_legacy_era()
        .always("initialize", Reply::result(&described()))
        .always("notifications/initialized", Reply::http(202, "", ""))
        .always("notifications/cancelled", Reply::http(202, "", ""));
    if !script.lists_tools() {
        server = server.always("tools/list", Reply::result(&json!({"tools": [tool("f")]})));
    }
    Play::new(script, End::Http(server), Era::Legacy).run().await;
}

async fn over_a_pipe(script: &Script) {
    let replies = Arc::new(Mutex::new(script.replies.iter().cloned().collect()));
    Play::new(script, End::Pipe { replies, open, heard: Vec::new() }, Era::Legacy).run().await;
}

fn open(replies: Replies) -> (Pipe, Heard) {
    let (pipe, peer) = peer(NEWEST, move |message| match message["method"].as_str() {
        Some("initialize") => Some(vec![result(message, described())]),
        _ => play(&replies, message),
    });
    (pipe, Box::new(move || peer.heard()))
}

/// A server that has everything that scripts ask for.
fn described() -> Value {
    json!({
        "protocolVersion": NEWEST,
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
        "serverInfo": {"name": "scripted", "version": "1"}
    })
}

#[test]
fn lists_of_a_session_end_whatever_their_cursors_say() {
    check(include_str!("../../../data/cursors.json"), false);
}

#[test]
fn an_invalid_definition_costs_itself_only_in_a_session() {
    check(include_str!("../../../data/tool_definitions.json"), false);
}

#[test]
fn a_call_of_a_session_ends_as_what_it_is() {
    check(include_str!("../../../data/call_outcomes.json"), false);
}

#[test]
fn every_value_of_structured_content_is_kept_in_a_session() {
    check(include_str!("../../../data/structured_content.json"), false);
}

#[test]
fn output_schemas_are_read_by_their_own_dialect_in_a_session() {
    check(include_str!("../../../data/output_schemas.json"), false);
}

#[test]
fn what_is_kept_of_a_session_belongs_to_whoever_asked_for_it() {
    check(include_str!("../../../data/kept_answers.json"), true);
}
