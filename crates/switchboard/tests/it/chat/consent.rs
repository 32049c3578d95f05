//! Approvals, forms and addresses, in a conversation.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Talk, World, call, on_a_thread, server};
use crate::elicit::{self, FILLED_IN};

/// A server with a tool that writes, with this description.
fn files(description: &Arc<Mutex<String>>) -> String {
    let description = Arc::clone(description);
    let server = server("files", json!({ "tools": {} }), move |method, _| match method {
        "tools/list" => json!({ "tools": [{
            "name": "write", "description": *description.lock().unwrap(),
            "inputSchema": { "type": "object", "properties": { "path": { "type": "string" } } },
        }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "written" }] }),
        _ => Value::Null,
    });
    server.split_once('=').unwrap().1.to_owned()
}

/// Writes a configuration with that server, so that what is agreed to can be kept.
fn configured(world: &World) -> Arc<Mutex<String>> {
    let description = Arc::new(Mutex::new("Writes a file.".to_owned()));
    let folder = world.folder().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("config.toml"),
        format!("[servers.files]\nurl = \"{}\"\n", files(&description)),
    )
    .unwrap();
    description
}

fn write(path: &str) -> Value {
    call("files__write", json!({ "path": path }))
}

impl Talk {
    /// Asks, answers every question with a key, and counts them.
    fn count(&mut self, line: &str, key: &str, end: &str) -> usize {
        self.0.type_line(line);
        let mut questions = 0;
        while self.0.wait_for_any(&["Allow this call?", end]) == 0 {
            questions += 1;
            self.0.wait_for("[n] no: ");
            self.0.type_line(key);
        }
        self.prompted();
        questions
    }
}

#[tokio::test]
async fn an_answer_lasts_as_long_as_it_says() {
    // Two calls in the first question, one in the second, one after a restart in the same session, one in another
    // session; the last of all is for another folder.
    for (key, expected) in [
        ("y", [2, 1, 1, 1, 1]),
        ("r", [1, 1, 1, 1, 1]),
        ("s", [1, 0, 0, 1, 1]),
        ("o", [1, 0, 0, 0, 1]),
        ("a", [1, 0, 0, 0, 0]),
        ("n", [2, 1, 1, 1, 1]),
    ] {
        let world = World::new(json!([
            write("/srv/docs/a"), write("/srv/docs/b"), { "say": "First." },
            write("/srv/docs/c"), { "say": "Second." },
            write("/srv/docs/d"), { "say": "Third." },
            write("/srv/docs/e"), { "say": "Fourth." },
            write("/srv/other/f"), { "say": "Fifth." },
        ]))
        .await;
        let counted = on_a_thread(&world, Vec::new(), move |world, _| {
            configured(world);
            let mut talk = world.chat(&[]);
            let mut counts = vec![talk.count("one", key, "First."), talk.count("two", key, "Second.")];
            talk.leave();
            let mut talk = world.resumed(&["--resume"], "Second.");
            counts.push(talk.count("three", key, "Third."));
            talk.leave();
            let mut talk = world.chat(&[]);
            counts.push(talk.count("four", key, "Fourth."));
            // In a session of its own, so that only what lasts for always counts.
            talk.say("/new", &[]);
            counts.push(talk.count("five", key, "Fifth."));
            talk.leave();
            counts
        });
        assert_eq!(counted.await, expected, "{key}");
        world.model.verify().unwrap();
    }
}

#[tokio::test]
async fn a_tool_that_changed_is_asked_about_with_the_difference() {
    let world = World::new(json!([
        write("/srv/a"), { "say": "First." }, write("/srv/a"), { "say": "Second." }, write("/srv/a"),
        { "say": "Third." },
    ]))
    .await;
    let ran = on_a_thread(&world, Vec::new(), |world, _| {
        let description = configured(world);
        let mut talk = world.chat(&[]);
        assert_eq!(talk.count("one", "a", "First."), 1);
        assert_eq!(talk.count("two", "a", "Second."), 0);
        "Writes a file, and sends it away.".clone_into(&mut description.lock().unwrap());
        // The next process lists the tools anew.
        talk.leave();
        let mut talk = world.resumed(&["--resume"], "Second.");
        talk.0.type_line("three");
        talk.0.wait_for("Allow this call?");
        talk.0.wait_for("and sends it away");
        talk.0.wait_for("[n] no: ");
        talk.0.type_line("y");
        talk.0.wait_for("Third.");
        talk.prompted();
        talk.leave()
    });
    ran.await;
}

/// Asks for a call of the garage's tool, which asks this; answers, and gives what the model got of it.
async fn asked(question: Value, answers: &[(&str, &str)]) -> (String, String) {
    let world = World::new(json!([call("garage__order", json!({})), { "say": "All done." }])).await;
    let answers: Vec<(String, String)> =
        answers.iter().map(|(words, typed)| ((*words).to_owned(), (*typed).to_owned())).collect();
    let args = vec!["--yes".to_owned(), "--server".to_owned(), elicit::asking(question)];
    let ran = on_a_thread(&world, args, move |world, args| {
        let mut talk = world.chat(&super::borrowed(&args));
        let answers: Vec<_> = answers.iter().map(|(words, typed)| (words.as_str(), typed.as_str())).collect();
        talk.answer("order a car", &answers);
        talk.0.wait_for("All done.");
        talk.prompted();
        talk.leave()
    });
    let shown = ran.await.stderr;
    (shown, world.chats().pop().unwrap())
}

#[tokio::test]
async fn a_form_is_filled_in_reviewed_and_sent_or_not() {
    let first = FILLED_IN[0].0;
    let whole = |last: &'static str| [&FILLED_IN[..], &[("[c] cancel: ", last)]].concat();
    for (answers, word) in [
        (whole("s"), "accept"),
        (whole("d"), "decline"),
        (vec![(first, ":decline")], "decline"),
        (vec![(first, ":cancel")], "cancel"),
        ([&whole("e")[..], &[(first, ":cancel")]].concat(), "cancel"),
    ] {
        let (shown, told) = asked(elicit::form(), &answers).await;
        assert!(told.contains(word), "{word}: {told}");
        assert!(word != "accept" || told.contains("Ada"), "{told}");
        assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}

#[tokio::test]
async fn an_address_is_agreed_to_or_not() {
    let question = json!({
        "mode": "url", "message": "Log in", "url": "https://id.example/login", "elicitationId": "1",
    });
    for (typed, word) in [("y", "accept"), ("d", "decline"), ("c", "cancel")] {
        let (shown, told) = asked(question.clone(), &[("[c] cancel: ", typed)]).await;
        assert!(told.contains(word), "{word}: {told}");
        assert!(shown.contains("id.example"), "{shown}");
    }
}
