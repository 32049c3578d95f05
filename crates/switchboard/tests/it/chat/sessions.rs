//! Conversations that go on after their process ended.

use rustix::process::Signal;
use serde_json::json;

use super::{Talk, World, call, deaf, on_a_thread};
use crate::program::{finish, over_stdio};
use crate::terminal::Terminal;

#[tokio::test]
async fn the_last_one_or_a_named_one_goes_on() {
    let turns = json!([
        { "say": "About tea." }, { "say": "About coffee." },
        { "expect": { "contains": ["About coffee."] }, "say": "More coffee." },
        { "expect": { "contains": ["About tea."] }, "say": "More tea." },
        { "expect": { "messages": 2 }, "say": "Fresh." },
    ]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let mut talk = world.chat(&[]);
        talk.say("tell me of tea", &["About tea."]);
        talk.0.type_line("/sessions");
        talk.0.wait_for("tell me of tea");
        talk.prompted();
        let listed = talk.0.seen().rsplit_once("/sessions").unwrap().1.split_whitespace();
        let id = listed.clone().find(|word| word.len() == 16 && word.starts_with('s')).unwrap().to_owned();
        talk.say("/new", &[]);
        talk.say("tell me of coffee", &["About coffee."]);
        talk.leave();
        let mut talk = world.resumed(&["--resume"], "About coffee.");
        talk.say("more", &["More coffee."]);
        talk.say(&format!("/resume {id}"), &["tell me of tea", "About tea."]);
        talk.say("more", &["More tea."]);
        talk.say("/new", &[]);
        talk.say("anew", &["Fresh."]);
        talk.leave();
        Terminal::whole(world.command(&["--resume=nothing"])).end().expect(1);
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn a_question_that_waits_is_asked_again() {
    let turns = json!([call("sh__wait", json!({})), { "say": "Not made, then." }]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--"][..], &super::borrowed(&child)].concat();
        let mut talk = world.chat(&args);
        talk.0.type_line("wait");
        talk.0.wait_for("[n] no: ");
        talk.0.signal(Signal::KILL);
        talk.0.end();
        let args = [&["--resume", "--"][..], &super::borrowed(&child)].concat();
        let mut talk = Talk(Terminal::whole(world.command(&args)));
        talk.0.wait_for("the last question waits for your answer");
        talk.0.wait_for("Allow this call?");
        talk.0.wait_for("[n] no: ");
        talk.0.type_line("n");
        talk.0.wait_for("Not made, then.");
        talk.prompted();
        talk.leave();
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn a_question_that_waits_is_asked_by_sessions_resume_too() {
    let turns = json!([call("sh__wait", json!({})), { "say": "Not made, then." }]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--"][..], &super::borrowed(&child)].concat();
        let mut asked = Terminal::run(world.with_model(&["run", "wait"], &args));
        asked.wait_for("[n] no: ");
        asked.signal(Signal::KILL);
        asked.end();
        let listed = finish(world.program(&["sessions", "list", "--json"]).spawn().unwrap());
        let id = listed.json()[0]["id"].as_str().unwrap().to_owned();
        let more = world.with_model(&["run", &format!("--resume={id}"), "more"], &args).spawn().unwrap();
        finish(more).expect(2).says(&["sh/wait waits for approval", &format!("sessions resume {id}")]);
        // Without a terminal it waits on.
        let resume = || world.with_model(&["sessions", "resume", &id], &args);
        finish(resume().spawn().unwrap()).expect(2).says(&["sh/wait waits for approval", "it waits on"]);
        let mut resumed = Terminal::run(resume());
        resumed.wait_for("Allow this call?");
        resumed.wait_for("[n] no: ");
        resumed.press(&[4]);
        resumed.end().expect(2).says(&["sh/wait waits for approval"]);
        let mut resumed = Terminal::run(resume());
        resumed.wait_for("[n] no: ");
        resumed.type_line("n");
        assert!(resumed.end().expect(0).stdout.contains("Not made, then."));
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn a_call_that_waits_goes_on_in_a_pipe_once_a_rule_allows_it() {
    let name = "calculator__calculator_arithmetic";
    let turns = json!([call(name, json!({ "expression": "1 + 1" })), { "say": "Two." }]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let start = ["servers", "add", "calculator", "--"];
        let program = over_stdio("calculator");
        finish(world.program(&[&start[..], &super::borrowed(&program)].concat()).spawn().unwrap()).expect(0);
        let mut asked = Terminal::run(world.with_model(&["run", "add"], &[]));
        asked.wait_for("[n] no: ");
        asked.signal(Signal::KILL);
        asked.end();
        let listed = finish(world.program(&["sessions", "list", "--json"]).spawn().unwrap());
        let id = listed.json()[0]["id"].as_str().unwrap().to_owned();
        let resume = || finish(world.with_model(&["sessions", "resume", &id], &["--json"]).spawn().unwrap());
        for _ in 0..2 {
            let waits = resume().expect(2);
            let error: serde_json::Value =
                serde_json::from_str(waits.stderr.lines().last().unwrap()).unwrap();
            assert_eq!((&error["kind"], &error["server"]), (&json!("approval_needed"), &json!("calculator")));
            let command = "switchboard policy add 'allow calculator/calculator_arithmetic'";
            assert_eq!(error["rule"]["command"], command, "{error}");
        }
        let rule = "allow calculator/calculator_arithmetic";
        finish(world.program(&["policy", "add", rule]).spawn().unwrap()).expect(0);
        assert_eq!(resume().expect(0).json()["answer"], "Two.");
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn another_model_does_not_take_over_what_was_interrupted() {
    let turns = json!([call("sh__wait", json!({})), { "say": "Not made, then." }]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--"][..], &super::borrowed(&child)].concat();
        let mut asked = Terminal::run(world.with_model(&["run", "wait"], &args));
        asked.wait_for("[n] no: ");
        asked.signal(Signal::KILL);
        asked.end();
        let listed = finish(world.program(&["sessions", "list", "--json"]).spawn().unwrap());
        let id = listed.json()[0]["id"].as_str().unwrap().to_owned();
        let resume = format!("--resume={id}");
        // What is to be done next holds the options that it needs.
        let again = finish(world.with_model(&["run", &resume, "more"], &args).spawn().unwrap());
        let base_url = world.model.base_url();
        again.expect(2).says(&[&format!("sessions resume {id} --base-url {base_url} --model scripted")]);
        let without = |words: &[&str]| world.program(&[words, &args].concat());
        let again = finish(without(&["run", &resume, "more"]).spawn().unwrap());
        again.expect(2).says(&[&format!("sessions resume {id} --model scripted")]);
        let other = finish(without(&["sessions", "resume", &id]).spawn().unwrap());
        other.expect(1).says(&["asked the model scripted", "router", "--model scripted"]);
        Terminal::whole(without(&["chat", &resume])).end().expect(1).says(&["asked the model scripted"]);
        let mut resumed = Terminal::run(world.with_model(&["sessions", "resume", &id], &args));
        resumed.wait_for("model scripted");
        resumed.wait_for("[n] no: ");
        resumed.type_line("n");
        assert!(resumed.end().expect(0).stdout.contains("Not made, then."));
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn a_further_question_waits_for_the_servers() {
    let turns = json!([
        { "say": "Hello." }, { "expect": { "offers": ["calculator__calculator_arithmetic"] }, "say": "More." },
    ]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let start = ["servers", "add", "calculator", "--"];
        let program = over_stdio("calculator");
        finish(world.program(&[&start[..], &super::borrowed(&program)].concat()).spawn().unwrap()).expect(0);
        finish(world.with_model(&["run", "hello"], &["--json"]).spawn().unwrap()).expect(0);
        let listed = finish(world.program(&["sessions", "list", "--json"]).spawn().unwrap());
        let id = listed.json()[0]["id"].as_str().unwrap().to_owned();
        let ran = finish(world.with_model(&["sessions", "resume", &id, "go on"], &[]).spawn().unwrap());
        assert!(ran.expect(0).says(&["model scripted"]).stdout.contains("More."));
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn of_a_call_in_flight_nobody_knows_what_came_of_it() {
    let turns = json!([
        call("sh__wait", json!({})),
        { "expect": { "last_role": "tool", "last_contains": "not known" }, "say": "Nobody knows." },
    ]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let child = deaf(&world.folder().join("log"));
        let args = [&["--yes", "--"][..], &super::borrowed(&child)].concat();
        let mut talk = world.chat(&args);
        talk.0.type_line("wait");
        talk.0.wait_for("● sh/wait");
        talk.0.signal(Signal::KILL);
        talk.0.end();
        let args = [&["--yes", "--resume", "--"][..], &super::borrowed(&child)].concat();
        let mut talk = Talk(Terminal::whole(world.command(&args)));
        talk.0.wait_for("is not known");
        talk.0.wait_for("Nobody knows.");
        talk.prompted();
        talk.leave();
    })
    .await;
    world.model.verify().unwrap();
}
