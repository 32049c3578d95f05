//! Servers that come late, that do not come, and the commands about them.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;

use super::{World, call, on_a_thread, play};
use crate::program::over_stdio;

#[tokio::test]
async fn a_broken_server_blocks_nobody_and_is_named_once() {
    let turns = json!([{ "say": "One." }, { "say": "Two." }]);
    let missing = "nothing=http://127.0.0.1:9/mcp";
    let lines: &[(&str, &[&str])] = &[("hello", &["One."]), ("again", &["Two."])];
    let (ran, _) = play(turns, &["--demo", "--server", missing], lines).await;
    assert_eq!(ran.stderr.matches("nothing does not work").count(), 1, "{}", ran.stderr);
    ran.says(&["going on without it", "hint:"]);
}

#[tokio::test]
async fn a_late_server_joins_between_turns() {
    let turns = json!([
        { "say": "Alone.", "expect": { "lacks": ["tools"] } },
        { "expect": { "offers": ["late__calculator_arithmetic"] }, "call": [
            { "name": "late__calculator_arithmetic", "arguments": { "expression": "6 * 7" } }] },
        { "say": "It is 42." },
    ]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        let gate = late(world, &over_stdio("calculator"));
        let mut talk = world.chat(&["--yes"]);
        talk.say("hello", &["late is still starting; ctrl-c", "going on without late", "Alone."]);
        std::fs::write(&gate, "").unwrap();
        talk.0.wait_for("ready: late (");
        talk.say("how much is 6 * 7?", &["✓ late/calculator_arithmetic", "It is 42."]);
        talk.leave();
    })
    .await;
    world.model.verify().unwrap();
}

#[tokio::test]
async fn a_first_question_waits_for_a_late_server_until_ctrl_c() {
    let turns = json!([
        { "expect": { "offers": ["late__wait"] }, "say": "With it." },
        { "expect": { "lacks": ["tools"] }, "say": "Without it." },
    ]);
    let world = World::new(turns).await;
    on_a_thread(&world, Vec::new(), |world, _| {
        // A small program, that has started long before the patience with it ends.
        let gate = late(world, &super::deaf(&world.folder().join("log")));
        let mut talk = world.chat(&[]);
        talk.0.type_line("hello");
        talk.0.wait_for("late is still starting");
        std::fs::write(&gate, "").unwrap();
        talk.0.wait_for("ready: late (");
        talk.0.wait_for("With it.");
        talk.prompted();
        talk.leave();
        let mut talk = world.chat(&[]);
        talk.0.type_line("hello");
        talk.0.wait_for("late is still starting");
        talk.0.signal(Signal::INT);
        talk.0.wait_for("going on without late");
        talk.0.wait_for("Without it.");
        talk.prompted();
        talk.leave();
    })
    .await;
    world.model.verify().unwrap();
}

/// Configures this program as a server that starts once something is written to this file.
fn late(world: &World, program: &[String]) -> PathBuf {
    let gate = world.folder().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!("cat '{}' >/dev/null; exec \"$@\"", gate.display());
    let args = [&["-c".to_owned(), script, "sh".to_owned()], program].concat();
    // A `$` is said twice.
    let args: Vec<String> = args.iter().map(|word| word.replace('$', "$$")).collect();
    let config = format!("[servers.late]\ncommand = \"sh\"\nargs = {args:?}\n");
    std::fs::create_dir_all(world.folder().join("config")).unwrap();
    std::fs::write(world.folder().join("config/config.toml"), config).unwrap();
    gate
}

#[tokio::test]
async fn commands_say_and_choose() {
    let turns = json!([
        { "expect": { "offers": ["calculator__calculator_arithmetic"] }, "say": "One." },
        { "say": "Two." },
        call("calculator__calculator_arithmetic", json!({ "expression": "1 + 1" })),
        { "expect": { "last_role": "tool" }, "say": "Three." },
    ]);
    let lines: &[(&str, &[&str])] = &[
        ("/help", &["/servers", "@SERVER:URI"]),
        ("hello", &["One."]),
        ("/servers", &["● calculator", "ready"]),
        ("/servers station", &["● station", "○ calculator"]),
        ("/servers nobody", &["no server is called \"nobody\""]),
        ("/tools", &["calculator__calculator_arithmetic", "tokens"]),
        ("again", &["Two."]),
        ("/servers all", &["● calculator"]),
        ("/tools off calculator/*", &["left out: calculator/*"]),
        ("/tools off calculator/*", &["left out: calculator/*"]),
        ("/new", &["still left out: calculator/*;"]),
        ("/tools", &["○ calculator__calculator_arithmetic", "● station__get_climate"]),
        ("/tools off", &["write /tools off"]),
        ("count", &["cannot be made", "Three."]),
        ("/tools on", &["left out: none"]),
        ("/model other", &["model other"]),
        ("/model", &["● other"]),
        ("/sessions", &["last question", "ended", "count"]),
        ("/resume nothing", &["error:"]),
        ("/etc is a command", &["there is no command"]),
    ];
    let (ran, chats) = play(turns, &["--demo"], lines).await;
    for chat in &chats[1..3] {
        assert!(!chat.contains("calculator__calculator_arithmetic"), "{chat}");
    }
    let screen = ran.stdout + &ran.stderr;
    assert!(!screen.contains("calculator/*, calculator/*"), "{screen}");
}
