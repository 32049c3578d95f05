//! What is left of servers when the program is killed: nothing, 2 s later, whatever they are made of and however much
//! they want to stay.

use std::net::TcpListener;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{command, in_a_line, over_stdio};
use crate::serve::{Serving, scripted};

/// Nothing is left so long after the end of the host.
const AFTER: Duration = Duration::from_secs(2);
/// How long servers may take to start: runtimes are slow on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How often the processes are counted.
const TICK: Duration = Duration::from_millis(20);

/// A server of Node, started the way `npx` does it: a shell that waits for it. It hears no signal that can be ignored,
/// and goes on after the end of its input.
const NODE: &str = r#"
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
setInterval(() => {}, 1000);
const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\n');
const usual = { resultType: 'complete', ttlMs: 60000, cacheScope: 'private' };
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'server/discover')
    send(id, { ...usual, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
  else if (method === 'tools/list') send(id, { ...usual, tools: [] });
});
"#;

/// A server of Python that forks twice, ignores SIGTERM, and goes on after the end of its input; its children do as it
/// does, and the last of them is a daemon in a session of its own.
const PYTHON: &str = r#"
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
usual = {"resultType": "complete", "ttlMs": 60000, "cacheScope": "private"}
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "server/discover":
        result = {**usual, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif asked.get("method") == "tools/list":
        result = {**usual, "tools": []}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
time.sleep(1000)
"#;

/// A server of the shell. `$1` is what it does after the end of its input.
const SHELL: &str = r#"
usual='"resultType":"complete","ttlMs":60000,"cacheScope":"private"'
while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    case $line in
        *'"server/discover"'*) more='"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}';;
        *'"tools/list"'*) more='"tools":[]';;
        *) continue;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":{%s,%s}}\n' "$id" "$usual" "$more"
done
eval "$1"
"#;

/// Ignores everything that can be ignored, and has helpers that do so, too. One of them is in a session of its own.
const STUBBORN: &str = "trap '' TERM HUP INT; (sleep 1000 & setsid sleep 1000) & ";

struct Five {
    host: Child,
    mark: String,
    _model: TcpListener,
    _folder: tempfile::TempDir,
}

fn has(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

/// The commands of five servers, as the program reads them. Where a runtime is absent, the shell plays its part.
fn commands(folder: &Path) -> Vec<Vec<String>> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let shell = |name: &str, before: &str, after: &str| {
        vec!["sh".into(), write(name, &format!("{before}\n{SHELL}")), after.into()]
    };
    let stay = "while :; do sleep 1000; done";
    let node = match has("node") {
        // `; :` keeps the shell from becoming the server, as `npx` does not.
        true => vec!["sh".into(), "-c".into(), format!("node '{}'; :", write("server.js", NODE))],
        false => shell("node.sh", STUBBORN, stay),
    };
    let python = match has("python3") {
        true => vec!["python3".into(), write("server.py", PYTHON)],
        false => shell("python.sh", STUBBORN, stay),
    };
    vec![
        node,
        python,
        over_stdio("calculator").to_vec(),
        shell("stubborn.sh", STUBBORN, stay),
        shell("polite.sh", "", ":"),
    ]
}

/// Starts the program with five servers; a model that never answers keeps it there.
fn five() -> Five {
    let folder = tempfile::tempdir().unwrap();
    let model = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", model.local_addr().unwrap());
    let mut args: Vec<String> =
        ["run", "Stay", "--base-url", &base_url, "--model", "silent"].map(str::to_owned).to_vec();
    for words in commands(folder.path()) {
        args.extend(["--command".into(), in_a_line(&words)]);
    }
    let mark = format!("orphans-{}-{:p}", std::process::id(), &raw const *folder.path());
    let mut host = command(&args).env("SWITCHBOARD_TEST_MARK", &mark).spawn().unwrap();
    // The model is asked once the servers have listed their tools.
    model.set_nonblocking(true).unwrap();
    until("the model is asked", START, || {
        assert!(host.try_wait().unwrap().is_none(), "the host has ended");
        model.accept().is_ok()
    });
    Five { host, mark, _model: model, _folder: folder }
}

/// The processes that run with this mark in their environment: it is inherited, whoever the parent is now.
fn marked(mark: &str) -> Vec<(u32, String)> {
    let wanted = format!("SWITCHBOARD_TEST_MARK={mark}");
    let ids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    })
    .filter(|id| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })
    .map(|id| {
        (id, std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default().replace('\0', " "))
    })
    .collect()
}

fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::park_timeout(TICK);
    }
}

#[test]
fn a_program_that_is_killed_leaves_nothing_of_five_servers_of_three_runtimes() {
    let Five { mut host, mark, .. } = five();
    kill(&mut host, &mark);
}

/// Kills a program with five servers, and waits until nothing of them is left.
fn kill(host: &mut Child, mark: &str) {
    // The program, five servers with what three of them start, and a watcher for each.
    let before = marked(mark);
    assert!(before.len() > 12, "{before:#?}");
    kill_process(Pid::from_child(host), Signal::KILL).unwrap();
    let killed = Instant::now();
    host.wait().unwrap();
    let mut left = marked(mark);
    while !left.is_empty() && killed.elapsed() < AFTER {
        std::thread::park_timeout(TICK);
        left = marked(mark);
    }
    assert!(left.is_empty(), "{:?} after the end: {left:#?}", killed.elapsed());
}

/// The configuration of these five and of a model.
fn configure(folder: &Path, base_url: &str) {
    let mut text =
        format!("[models.scripted]\nkind = \"openai\"\nbase_url = {base_url:?}\nmodel = \"scripted\"\n");
    let names = ["node", "python", "calculator", "stubborn", "polite"];
    for (name, words) in names.iter().zip(commands(folder)) {
        text.push_str(&format!("\n[servers.{name}]\ncommand = {:?}\nargs = {:?}\n", words[0], &words[1..]));
    }
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// Waits until all five are ready.
async fn all_ready(serving: &Serving) {
    let since = Instant::now();
    loop {
        let servers = serving.ask("GET", "/servers", Value::Null, 200).await;
        let ready = servers.as_array().unwrap().iter().filter(|server| server["state"] == "ready");
        if ready.count() == 5 {
            return;
        }
        assert!(since.elapsed() < START, "{servers:#}");
        tokio::task::block_in_place(|| std::thread::park_timeout(TICK));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_after_its_program_and_five_servers_of_three_runtimes_were_killed() {
    let model = scripted(json!([
        { "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "6 * 7" } }] },
        { "expect": { "last_role": "tool", "last_contains": "42" }, "say": "It is 42." },
        { "expect": { "contains": ["What is 6 times 7?", "It is 42."] }, "say": "The same." },
    ]))
    .await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &model.base_url());
    let mark = format!("resumed-{}-{:p}", std::process::id(), &raw const *folder.path());
    let variables = [("SWITCHBOARD_TEST_MARK", mark.as_str())];
    let mut first = Serving::start_with(folder.path(), &variables);
    all_ready(&first).await;
    let run = first.ask("POST", "/run", json!({ "input": "What is 6 times 7?" }), 202).await;
    kill(&mut first.child, &mark);

    let second = Serving::start_with(folder.path(), &variables);
    all_ready(&second).await;
    let request = &run["requests"][0];
    let reply = json!({
        "request": request["id"],
        "reply": { "kind": "approval", "digest": request["question"]["digest"], "choice": "allow_once" },
    });
    let path = format!("/run/{}/input", run["id"].as_str().unwrap());
    let over = second.ask("POST", &path, reply, 200).await;
    assert_eq!((&over["status"], &over["answer"]), (&json!("finished"), &json!("It is 42.")), "{over}");
    let again = json!({ "input": "And again?", "session": run["session"] });
    assert_eq!(second.ask("POST", "/run", again, 200).await["answer"], "The same.");
    model.verify().unwrap();
}

#[test]
fn a_program_that_is_told_to_end_leaves_nothing_either() {
    let Five { mut host, mark, .. } = five();
    kill_process(Pid::from_child(&host), Signal::TERM).unwrap();
    host.wait().unwrap();
    until("nothing is left", AFTER, || marked(&mark).is_empty());
}
