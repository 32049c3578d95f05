//! Ctrl-c, SIGTERM and the time limit at a question that stands there before anything runs, on a pseudo-terminal.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::config::Home;
use crate::program::{Ran, finish, over_stdio};
use crate::terminal::Terminal;

/// The commands that start servers which a project names.
const COMMANDS: [&[&str]; 5] = [
    &["run", "How much is 6 * 7?"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["sessions", "resume", "s0000000000000001", "go on"],
    &["tools", "call", "sums/calculator_arithmetic", "{}"],
    &["chat"],
];

/// A project with a server that wants two answers.
fn home() -> Home {
    let home = Home::new();
    let [program, args @ ..] = over_stdio("calculator");
    let inputs = json!([
        { "type": "promptString", "id": "place", "description": "The place of it" },
        { "type": "promptString", "id": "key", "description": "The key of it", "password": true },
    ]);
    let env = json!({ "A_PLACE": "${input:place}", "THE_KEY": "${input:key}" });
    let servers = json!({ "sums": { "command": program, "args": args, "env": env } });
    home.write("project/.vscode/mcp.json", &json!({ "inputs": inputs, "servers": servers }).to_string());
    home
}

/// Answers the first questions, and at the one after them does this. What is typed is shown again afterwards.
fn stop(mut terminal: Terminal, answered: usize, stop: impl FnOnce(&Terminal)) -> Ran {
    let questions = [("[n] not this time: ", "y"), ("value: ", "here"), ("not shown: ", "secret")];
    for (question, answer) in &questions[..answered] {
        terminal.wait_for(question);
        terminal.type_line(answer);
    }
    terminal.wait_for(questions[answered].0);
    stop(&terminal);
    let echo = terminal.echo();
    let ran = terminal.end();
    assert!(echo(), "what is typed is not shown any more: {}", ran.stderr);
    ran
}

fn open(home: &Home, args: &[&str]) -> Terminal {
    let mut command = home.command(args);
    command.env("TERM", "xterm");
    Terminal::whole(command)
}

#[test]
fn a_signal_at_a_question_ends_the_command_and_what_was_not_answered_is_not_trusted() {
    for args in COMMANDS {
        for (answered, signal) in [(0, Signal::INT), (0, Signal::TERM), (1, Signal::INT), (2, Signal::TERM)] {
            let home = home();
            let ran = stop(open(&home, args), answered, |terminal| terminal.signal(signal));
            ran.expect(130).says(&["interrupted"]);
            let listed = home.run(&["servers", "list"]).expect(0).stdout;
            assert_eq!(listed.contains("untrusted"), answered == 0, "{args:?}: {listed}");
        }
    }
}

#[test]
fn the_time_limit_counts_from_the_start_also_while_a_question_stands_there() {
    for (args, answered) in [(COMMANDS[0], 0), (COMMANDS[3], 2)] {
        let args = [args, &["--timeout", "10"]].concat();
        stop(open(&home(), &args), answered, |_| {}).expect(6).says(&["time limit of 10 s"]);
    }
}

#[test]
fn the_time_limit_counts_while_the_question_is_read_from_stdin() {
    let home = home();
    for args in [&["run", "-"][..], &["tools", "call", "sums/calculator_arithmetic", "-"]] {
        let mut child = home.command(args).args(["--timeout", "1"]).stdin(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        finish(child).expect(6).says(&["time limit of 1 s"]);
        drop(stdin);
    }
}
