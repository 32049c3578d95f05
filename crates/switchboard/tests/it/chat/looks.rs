//! What is seen of an answer.

use serde_json::json;

use super::{Talk, World, on_a_thread, play};
use crate::terminal::Terminal;

const ANSWER: &str = "# Title\n\nIt is **bold**.\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 日本 | x |\n\n```rust\nlet a\n\nlet b\n```\n\nThe end.";

#[tokio::test]
async fn an_answer_is_laid_out_as_it_comes() {
    for (environment, has, lacks) in [
        (
            &[][..],
            &["\u{1b}[1mbold\u{1b}[0m", "• one\r\n• two", "日本  x", "  let a\r\n\r\n  let b"][..],
            &[][..],
        ),
        (&[("NO_COLOR", "1")], &["It is bold.", "• one"], &["\u{1b}[1m", "\u{1b}[2m"]),
        (&[("TERM", "dumb")], &["It is bold.", "• one"], &["\u{1b}", "**", "```"]),
    ] {
        let world = World::new(json!([{ "say": ANSWER, "cut_every": 7 }])).await;
        let ran = on_a_thread(&world, Vec::new(), move |world, _| {
            let mut command = world.command(&[]);
            command.envs(environment.iter().copied());
            let mut talk = Talk(Terminal::whole(command));
            talk.prompted();
            talk.say("hello", &["The end."]);
            talk.leave()
        });
        let shown = ran.await.stderr;
        for part in has {
            assert!(shown.contains(part), "{environment:?}: {part:?} is not in {shown:?}");
        }
        for part in lacks {
            assert!(!shown.contains(part), "{environment:?}: {part:?} is in {shown:?}");
        }
    }
}

#[tokio::test]
async fn a_window_may_be_narrower_than_a_word() {
    let world = World::new(json!([{ "say": "incomprehensibilities 日本語 end\n\ndone" }])).await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let mut talk = world.chat(&[]);
        talk.0.resize(5, 4);
        talk.0.type_line("hi");
        talk.0.wait_for("done");
        talk.prompted();
        talk.0.resize(24, 80);
        talk.leave()
    });
    ran.await.says(&["incomprehensibilities"]);
}

#[tokio::test]
async fn what_cannot_be_understood_is_shown_and_moves_nothing() {
    let turns = json!([
        { "say": "\u{1b}[2J\u{7}\u{202e}evil\u{0}\ttab" },
        { "stream": ["data: {not json\n\n", "data: [DONE]\n\n"] },
        { "status": 401, "body": { "error": { "message": "bad \u{1b}[2J key" } } },
        { "call": [{ "name": "no_such_tool", "arguments": "{{{{" }] },
        { "say": "Well, no." },
        { "say": "Still here." },
    ]);
    let lines: &[(&str, &[&str])] = &[
        ("one", &["evil"]),
        ("two", &["error:"]),
        ("three", &["error:", "401", "hint:"]),
        ("four", &["Well, no."]),
        ("five", &["Still here."]),
    ];
    let (ran, _) = play(turns, &["--demo"], lines).await;
    assert!(!ran.stderr.contains("\u{1b}[2J") && !ran.stderr.contains('\u{202e}'), "{:?}", ran.stderr);
}

#[tokio::test]
async fn a_model_that_thinks_is_named_until_it_speaks() {
    let world = World::new(json!([{ "say": "Spoken at last.", "hold": 0 }])).await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let mut talk = world.chat(&[]);
        talk.0.type_line("hello");
        talk.0.wait_for("scripted");
        talk.0.wait_for(" scripted ");
        world.model.release();
        talk.0.wait_for("Spoken at last.");
        talk.prompted();
        talk.leave()
    });
    // Nothing stands behind the words that were written first.
    let shown = ran.await.stderr;
    let after = shown.rsplit("Spoken").next().unwrap();
    assert!(!after.contains(" scripted "), "{shown:?}");
}
