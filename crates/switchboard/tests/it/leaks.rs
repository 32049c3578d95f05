//! No secret leaves this program but to where it belongs: it is planted in every place that a configuration has for it,
//! servers and models repeat whatever they are given, and every output and every file that is kept is searched for it.
//!
//! What a server answers is the result of the command: `inspect` and `tools call` print it as it came.

use std::path::Path;
use std::{fs, io};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use switchboard_testkit::canned;

use crate::config::Home;
use crate::program::finish;
use crate::serve::{Serving, scripted};

/// What must be seen nowhere. It differs from its percent-encoded form.
const CANARY: &str = "c4nary/S3cret+w0rd";

/// A server over stdio that writes all that it was given to stderr, and goes on. What is encoded is one line: a secret that
/// is cut in two by the end of a line is out of reach.
const REPEATS: &str =
    "{ env; echo \"$@\"; env | base64 | tr -d \"\\n\"; echo; } >&2; exec \"$SB\" demo calculator --stdio";
/// One that ends.
const ENDS: &str = "{ env; echo \"$@\"; } >&2; exit 3";

/// A place for a secret.
#[derive(Clone, Copy)]
struct Plant {
    /// A file of the home, and what is in it: `HTTP`, `REPEATS`, `ENDS` and `CANARY` are put in.
    file: (&'static str, &'static str),
    /// Options of every command that talks to servers.
    options: &'static [&'static str],
    /// Whether it is written in the file itself, which is what is exported.
    is_literal: bool,
}

const fn config(text: &'static str) -> Plant {
    Plant { file: ("config/config.toml", text), options: &[], is_literal: false }
}

const fn literal(text: &'static str) -> Plant {
    Plant { is_literal: true, ..config(text) }
}

const PLANTS: &[Plant] = &[
    config("[servers.s]\nurl = \"HTTP\"\nheaders = { X-Odd = \"${secret:canary}\" }"),
    config("[servers.s]\nurl = \"HTTP?odd=${secret:canary}\""),
    config("[servers.s]\nurl = \"HTTP\"\nheaders = { X-Odd = \"Odd ${file:canary}\" }"),
    config("[servers.s]\nurl = \"HTTP\"\nheaders = { Authorization = \"Bearer ${SOME_TOKEN}\" }"),
    literal("[servers.s]\nurl = \"HTTP?api_key=CANARY\""),
    config("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'REPEATS', \"sh\", \"${secret:canary}\"]"),
    config("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'ENDS', \"sh\", \"${secret:canary}\"]"),
    config(
        "[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'REPEATS']\nenv = { ODD_DIR = \"${secret:canary}\" }",
    ),
    config("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'REPEATS']\nenv = { ODD = \"${SOME_TOKEN}\" }"),
    config("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'ENDS']\nenv_file = \"files.env\""),
    literal("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'REPEATS', \"sh\", \"--token\", \"CANARY\"]"),
    literal("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'ENDS', \"sh\", \"redis://u:CANARY@h/\"]"),
    Plant { options: &["--bearer-env", "s=SOME_TOKEN"], ..config("[servers.s]\nurl = \"HTTP\"") },
    Plant { options: &["--header", "s=X-Odd: c4nary/S3cret+w0rd"], ..config("[servers.s]\nurl = \"HTTP\"") },
    config(
        "[models.m]\nkind = \"openai\"\nbase_url = \"HTTP\"\nkey = \"${secret:canary}\"\n[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", 'REPEATS']",
    ),
    config(
        "[models.m]\nkind = \"openai\"\nbase_url = \"HTTP?k=${secret:canary}\"\nmodel = \"m\"\n[servers.s]\nurl = \"HTTP\"",
    ),
    Plant {
        file: (
            "project/.vscode/mcp.json",
            r#"{ "inputs": [{ "type": "promptString", "id": "k", "password": true }],
                 "servers": { "s": { "url": "HTTP", "headers": { "X-Odd": "${input:k}" } } } }"#,
        ),
        ..config("")
    },
];

/// What is asked of every configuration. The first word says what else counts as its result.
const COMMANDS: &[(&str, &[&str])] = &[
    ("", &["servers", "list"]),
    ("", &["servers", "list", "--json"]),
    ("", &["servers", "status", "--json"]),
    ("", &["servers", "status"]),
    ("", &["servers", "test", "s"]),
    ("", &["servers", "logs", "s"]),
    ("file", &["servers", "export", "--format", "claude"]),
    ("file", &["servers", "export", "--format", "codex"]),
    ("file", &["servers", "export", "--format", "toml"]),
    ("", &["doctor"]),
    ("", &["config", "check", "--json"]),
    ("options", &["tools", "list", "-v"]),
    ("options", &["tools", "list", "--json"]),
    ("options", &["tools", "show", "f", "--json"]),
    ("options", &["tools", "show", "f"]),
    ("options", &["tools", "lint"]),
    ("options", &["tools", "call", "f", "--yes", "-v", "--json"]),
    ("options", &["run", "f 1 + 1", "--yes", "-v", "--trace", "TRACE"]),
    ("result", &["inspect", "s", "tools/call", "--wire", "{\"name\": \"f\"}"]),
    ("", &["sessions", "list", "--json"]),
];

/// An MCP server, and a model, that repeats what it hears: as it is, and in Base64.
fn repeats() -> String {
    let base = canned::serve(|request| {
        let heard = format!("{} {}", request.target, request.head);
        let heard = format!("{heard} {}", STANDARD.encode(&heard));
        let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let mut answer = match message["method"].as_str() {
            Some(method) => said(method, &message["params"], &heard),
            None => return (401, json!({ "error": { "message": heard } }).to_string()),
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        (200, answer.to_string())
    });
    format!("{base}/mcp")
}

/// What the server says to a request: what it heard, wherever there is a place for words.
fn said(method: &str, params: &Value, heard: &str) -> Value {
    let address = format!("test://h/{}", heard.split_whitespace().collect::<String>());
    let tool = |name: &str| json!({ "name": name, "title": heard, "description": heard, "inputSchema": { "type": "object" } });
    let mut result = match (method, params["name"].as_str()) {
        ("server/discover", _) => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
            "instructions": heard,
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": heard, "version": "1" } },
        }),
        ("tools/list", _) => json!({ "tools": [tool("f"), tool("form"), tool("link")] }),
        ("prompts/list", _) => json!({ "prompts": [{ "name": "p", "title": heard, "description": heard }] }),
        ("resources/list", _) => {
            json!({ "resources": [{ "uri": address, "name": heard, "description": heard }] })
        }
        ("resources/templates/list", _) => json!({ "resourceTemplates": [] }),
        ("tools/call", Some("link")) => json!({ "content": [
            { "type": "resource_link", "uri": address, "name": "l", "description": heard },
        ] }),
        ("tools/call", Some("form")) => {
            let field = json!({ "type": "string", "title": heard, "description": heard, "default": heard });
            let schema = json!({ "type": "object", "properties": { "field": field } });
            json!({ "resultType": "input_required", "inputRequests": { "q": {
                "method": "elicitation/create",
                "params": { "mode": "form", "message": heard, "requestedSchema": schema },
            } } })
        }
        _ => return json!({ "error": { "code": -32000, "message": heard, "data": heard } }),
    };
    if result["resultType"].is_null() {
        result["resultType"] = json!("complete");
    }
    result["ttlMs"] = json!(60_000);
    result["cacheScope"] = json!("private");
    json!({ "result": result })
}

/// The forms that are looked for.
fn forms() -> Vec<String> {
    let mut forms = vec![CANARY.to_owned(), "c4nary%2FS3cret%2Bw0rd".to_owned()];
    // Whatever stands in front of it, this much of its Base64 is its own.
    for before in ["", "a", "ab"] {
        let encoded = STANDARD.encode(format!("{before}{CANARY}"));
        forms.push(encoded[4..encoded.len() - 4].to_owned());
    }
    forms
}

/// Where it was found, and how often something stood in its place.
#[derive(Default)]
struct Leaks(Vec<String>, usize);

impl Leaks {
    fn look(&mut self, what: &str, text: &str) {
        self.1 += text.matches("***").count();
        for form in forms() {
            if let Some(at) = text.find(&form) {
                let before: Vec<char> = text[..at].chars().rev().take(160).collect();
                let before: String = before.into_iter().rev().collect();
                self.0.push(format!("{form} is in {what}, behind {before:?}"));
            }
        }
    }

    /// Everything that is kept in a folder, but for what is sealed.
    fn look_at_files(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.look_at_files(&path);
            } else if !path.ends_with("secrets.sealed") {
                let bytes = match fs::read(&path) {
                    // The lock of a session that has just ended.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    read => read.unwrap(),
                };
                self.look(&path.display().to_string(), &String::from_utf8_lossy(&bytes));
            }
        }
    }
}

fn planted(plant: &Plant, http: &str, leaks: &mut Leaks) -> Home {
    let home = Home::new();
    let (file, text) = plant.file;
    let text = [("HTTP", http), ("REPEATS", REPEATS), ("ENDS", ENDS), ("CANARY", CANARY)]
        .iter()
        .fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, &value.replace("$@", "$$@").replace("$SB", "$$SB"))
        });
    home.write(file, &text);
    home.write("config/canary", CANARY).write("config/files.env", &format!("ODD_KEY={CANARY}\n"));
    home.run_with(&["secrets", "set", "canary"], CANARY).expect(0);
    let trusted = home.run(&["servers", "trust", "--all"]);
    leaks.look("the question for trust", &(trusted.stdout + &trusted.stderr));
    home
}

fn check(plant: &Plant) -> Leaks {
    let mut leaks = Leaks::default();
    let home = planted(plant, &repeats(), &mut leaks);
    let trace = home.at("data/trace.jsonl");
    for (kind, args) in COMMANDS {
        if *kind == "file" && plant.is_literal {
            continue;
        }
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "TRACE" { trace.to_str().unwrap() } else { arg }).collect();
        let options = if *kind == "options" { plant.options } else { &[] };
        let mut command = home.command(&[&args, options].concat());
        command.env("SB", env!("CARGO_BIN_EXE_switchboard"));
        // What nobody names is inherited, and no secret of anybody.
        if plant.file.1.contains("SOME_TOKEN") || !plant.options.is_empty() {
            command.env("SOME_TOKEN", CANARY);
        }
        if plant.file.1.contains("${input:k}") {
            command.env("SWITCHBOARD_INPUT_K", CANARY);
        }
        let ran = finish(command.spawn().unwrap());
        leaks.look(&format!("stderr of {args:?}"), &ran.stderr);
        if *kind != "result" {
            leaks.look(&format!("stdout of {args:?}"), &ran.stdout);
        }
    }
    leaks.look_at_files(&home.at("data"));
    leaks
}

#[test]
fn a_secret_is_in_no_output_and_no_file() {
    let mut found = Vec::new();
    std::thread::scope(|scope| {
        let checks: Vec<_> = PLANTS.iter().map(|plant| scope.spawn(|| check(plant))).collect();
        for (plant, leaks) in PLANTS.iter().zip(checks) {
            let Leaks(leaks, masked) = leaks.join().unwrap();
            assert!(masked > 0, "nobody repeated the secret of {}", plant.file.1);
            if !leaks.is_empty() {
                found.push(format!("with {}:\n  {}", plant.file.1, leaks.join("\n  ")));
            }
        }
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Asks for a call that asks, and looks at what is asked: whether it may be made, and what its tool wants to know.
async fn look_at_questions(serving: &Serving, session: &str, leaks: &mut Leaks) {
    let mut run = serving.ask("POST", "/run", json!({ "input": "Ask.", "session": session }), 202).await;
    let path = format!("/run/{}", run["id"].as_str().unwrap());
    leaks.look("a question for consent", &run.to_string());
    let digest = run["requests"][0]["question"]["digest"].clone();
    assert_eq!(run["requests"][0]["question"]["hidden"], json!(["/x"]), "{run}");
    let reply = json!({ "kind": "approval", "digest": digest, "choice": "allow_once" });
    let input = json!({ "request": run["requests"][0]["id"], "reply": reply });
    run = serving.ask("POST", &format!("{path}/input"), input, 202).await;
    leaks.look("a form", &run.to_string());
    assert_eq!(run["requests"][0]["question"]["kind"], "form", "{run}");
    let field = &run["requests"][0]["question"]["schema"]["properties"]["field"];
    assert!(
        field["default"].is_null() && field["title"].as_str().is_some_and(|title| title.contains("***")),
        "{run}"
    );
    serving.ask("DELETE", &path, Value::Null, 200).await;
    let events = serving.text(&format!("{path}/events")).await;
    leaks.look("the events of questions", &events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_in_no_answer_of_the_api() {
    let repeats = repeats();
    for server in [
        format!("url = \"{repeats}\"\nheaders = {{ X-Odd = \"Odd ${{SOME_TOKEN}}\" }}"),
        format!(
            "command = \"sh\"\nargs = [\"-c\", '{}', \"sh\", \"${{SOME_TOKEN}}\"]",
            REPEATS.replace("$@", "$$@")
        ),
    ] {
        let model = scripted(json!([
            { "call": [{ "name": "s__f", "arguments": {} }, { "name": "s__link", "arguments": {} }] },
            { "say": format!("It is {CANARY}.") },
            { "call": [{ "name": "s__form", "arguments": { "x": CANARY } }] },
        ]))
        .await;
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[models.m]\nkind = \"openai\"\nbase_url = {:?}\nmodel = \"m\"\nkey = \"${{SOME_TOKEN}}\"\n[policy]\n\
             rules = [{{ action = \"ask\", server = \"s\", tool = \"form\" }}, {{ action = \"allow\", server = \"s\" }}]\n[servers.s]\n{server}\n",
            model.base_url()
        );
        fs::write(folder.path().join("config.toml"), text).unwrap();
        let program = env!("CARGO_BIN_EXE_switchboard");
        let serving = Serving::start_with(folder.path(), &[("SOME_TOKEN", CANARY), ("SB", program)]);
        let mut leaks = Leaks::default();
        let run = serving.ask("POST", "/run", json!({ "input": format!("Say {CANARY}.") }), 200).await;
        // The answer is the model's own words for whoever asked, and the question is theirs.
        let (id, session) = (run["id"].as_str().unwrap(), run["session"].as_str().unwrap());
        if server.starts_with("url") {
            look_at_questions(&serving, session, &mut leaks).await;
        }
        for path in [
            format!("/run/{id}/events"),
            format!("/sessions/{session}"),
            format!("/sessions/{session}/export"),
            "/sessions".to_owned(),
            "/servers".to_owned(),
            "/servers/s/logs".to_owned(),
            "/servers/s/wire".to_owned(),
            "/servers/s/tools".to_owned(),
            "/prompts".to_owned(),
            "/resources".to_owned(),
            "/models".to_owned(),
        ] {
            let answer = serving.text(&path).await;
            leaks.look(&path, &answer);
        }
        let tried = serving.text_of("POST", "/servers/s/test").await;
        leaks.look("/servers/s/test", &tried);
        leaks.look_at_files(&folder.path().join("data"));
        assert!(leaks.1 > 0, "nobody repeated the secret of {server}");
        assert!(leaks.0.is_empty(), "with {server}:\n  {}", leaks.0.join("\n  "));
    }
}
