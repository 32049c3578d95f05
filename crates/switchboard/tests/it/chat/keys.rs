//! Ctrl-c, ctrl-d, the tab and the arrows.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{World, call, deaf, on_a_thread, server};

#[tokio::test]
async fn ctrl_c_ends_a_run_and_not_the_conversation() {
    let world = World::new(json!([call("sh__wait", json!({})), { "say": "Still here." }])).await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let log = world.folder().join("log");
        let child = deaf(&log);
        let args = [&["--yes", "--"][..], &super::borrowed(&child)].concat();
        let mut talk = world.chat(&args);
        talk.0.type_line("wait");
        talk.0.wait_for("● sh/wait");
        talk.0.signal(Signal::INT);
        talk.0.wait_for("cancel sent");
        talk.0.wait_for("stopped");
        talk.prompted();
        talk.say("and now?", &["Still here."]);
        let ran = talk.leave();
        assert!(std::fs::read_to_string(log).unwrap().contains("notifications/cancelled"));
        ran
    });
    ran.await;
}

#[tokio::test]
async fn ctrl_c_at_a_question_ends_the_run_and_at_the_prompt_nothing() {
    let world = World::new(json!([call("sh__wait", json!({})), { "say": "Still here." }])).await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--"][..], &super::borrowed(&child)].concat();
        let mut talk = world.chat(&args);
        talk.0.press(&[3]);
        talk.0.wait_for("ctrl-d or /quit leaves");
        talk.prompted();
        talk.0.type_line("wait");
        talk.0.wait_for("[n] no: ");
        talk.0.press(&[3]);
        talk.0.wait_for("stopped");
        talk.prompted();
        talk.say("and now?", &["Still here."]);
        talk.say("", &[]);
        talk.leave()
    });
    let shown = ran.await.stderr;
    assert!(!shown.contains("● sh/wait"), "{shown}");
}

#[tokio::test]
async fn what_was_typed_before_a_question_stood_there_is_no_answer_to_it() {
    let mut turns = json!([call("sh__wait", json!({})), { "say": "Not made." }]);
    turns[0]["hold"] = json!(0);
    let world = World::new(turns).await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--"][..], &super::borrowed(&child)].concat();
        let mut talk = world.chat(&args);
        talk.0.type_line("wait");
        talk.0.wait_for(" scripted ");
        talk.0.type_line("y");
        world.model.release();
        talk.0.wait_for("[n] no: ");
        talk.0.type_line("n");
        talk.0.wait_for("Not made.");
        talk.prompted();
        talk.leave()
    });
    let shown = ran.await.stderr;
    assert!(!shown.contains("● sh/wait"), "{shown}");
}

#[tokio::test]
async fn a_process_that_is_told_to_end_ends_at_the_prompt_too() {
    let world = World::new(json!([{ "say": "Once." }])).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let mut talk = world.chat(&[]);
        talk.say("hello", &["Once."]);
        talk.0.signal(Signal::INT);
        talk.0.wait_for("ctrl-d or /quit leaves");
        talk.0.signal(Signal::TERM);
        talk.0.end().expect(130);
    })
    .await;
}

#[tokio::test]
async fn what_was_asked_is_remembered_unless_all_is_forgotten() {
    let world = World::new(json!([{ "say": "One." }, { "say": "Two." }, { "say": "Three." }])).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let mut talk = world.chat(&["--ephemeral"]);
        talk.say("secret question", &["One."]);
        talk.leave();
        let mut talk = world.chat(&[]);
        talk.say("first question", &["Two."]);
        talk.leave();
        let mut talk = world.chat(&[]);
        talk.0.press(b"\x1b[A");
        talk.0.wait_for("first question");
        talk.0.press(b"\x1b[A\r");
        talk.0.wait_for("Three.");
        talk.prompted();
        talk.leave();
    })
    .await;
    let chats = world.chats();
    assert!(chats[2].contains("first question"), "{}", chats[2]);
    assert!(std::fs::metadata(world.folder().join("data/history")).is_ok());
}

/// A server with a prompt, a resource, and completion.
fn library() -> String {
    let capabilities = json!({ "prompts": {}, "resources": {}, "completions": {} });
    server("library", capabilities, |method, params| match method {
        "prompts/list" => json!({ "prompts": [{
            "name": "summary", "title": "Sums up a book",
            "arguments": [
                { "name": "book", "description": "Which", "required": true },
                { "name": "tone", "required": false },
            ],
        }] }),
        "prompts/get" => json!({ "messages": [
            { "role": "user", "content": { "type": "text", "text": format!(
                "Sum up {} ({}).", params["arguments"]["book"], params["arguments"]["tone"],
            ) } },
            { "role": "user", "content": { "type": "resource", "resource": {
                "uri": "lib:notes", "mimeType": "text/plain", "text": "The notes of the librarian.",
            } } },
        ] }),
        "completion/complete" => {
            let typed = params["argument"]["value"].as_str().unwrap_or_default();
            let values: Vec<&str> =
                ["emma", "persuasion"].into_iter().filter(|book| book.starts_with(typed)).collect();
            json!({ "completion": { "values": values } })
        }
        "resources/list" => json!({ "resources": [{ "uri": "lib:emma.txt", "name": "Emma" }] }),
        "resources/templates/list" => json!({ "resourceTemplates": [] }),
        "resources/read" => json!({ "contents": [{
            "uri": params["uri"], "mimeType": "text/plain", "text": "Emma Woodhouse, handsome, clever, and rich",
        }] }),
        _ => Value::Null,
    })
}

#[tokio::test]
async fn prompts_and_resources_are_completed_and_go_to_the_model() {
    let turns = json!([{ "say": "Summed up." }, { "say": "Summed up again." }, { "say": "Read." }, { "say": "Asked." }]);
    let world = World::new(turns).await;
    on_a_thread(&world, vec!["--server".to_owned(), library()], |world, args| {
        let mut talk = world.chat(&super::borrowed(&args));
        talk.answer("/summary persuasion 'very dry'", &[]);
        talk.0.wait_for("Summed up.");
        talk.prompted();
        // What can be completed is known a moment after the prompt stands there.
        talk.0.press(b"/summ");
        talk.0.press_until(b"\t", "/summary ");
        talk.0.press(b"\r");
        talk.0.wait_for("book (Which): ");
        talk.0.type_line("");
        talk.0.wait_for("It must have a value");
        talk.0.wait_for("book (Which): ");
        talk.0.press(b"em\t");
        talk.0.wait_for("emma");
        talk.0.press(b"\r");
        talk.0.wait_for("tone, optional: ");
        talk.0.type_line("");
        talk.0.wait_for("Summed up again.");
        talk.prompted();
        talk.0.press(b"who is in @lib\t");
        talk.0.wait_for("library:lib:emma.txt ");
        talk.0.press(b"?\r");
        talk.0.wait_for("Read.");
        talk.prompted();
        talk.say("mail me @home: and @nobody:lib:x", &["Asked."]);
        talk.say("/nothing", &["there is no command and no prompt"]);
        talk.leave();
    })
    .await;
    world.model.verify().unwrap();
    let chats = world.chats();
    for (chat, part) in [
        (0, r#"Sum up \"persuasion\" (\"very dry\")."#),
        (0, "The notes of the librarian."),
        (1, r#"Sum up \"emma\" (null)."#),
        (2, "handsome, clever, and rich"),
    ] {
        assert!(chats[chat].contains(part), "{part} is not in {}", chats[chat]);
    }
}
