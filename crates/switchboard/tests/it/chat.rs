//! `switchboard chat`, on a pseudo-terminal, with a scripted model and servers that do as they are told.

mod consent;
mod keys;
mod looks;
mod servers;
mod sessions;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_llm::scripted::{Script, ScriptedModel};
use switchboard_testkit::canned;

use crate::program::{Ran, command};
use crate::terminal::Terminal;

/// A scripted model, and a data folder for the processes that talk with it.
struct World {
    model: Arc<ScriptedModel>,
    folder: tempfile::TempDir,
}

impl World {
    async fn new(turns: Value) -> Arc<Self> {
        let script = serde_json::from_value::<Script>(json!({ "turns": turns })).unwrap();
        let model = Arc::new(ScriptedModel::start(script).await.unwrap());
        Arc::new(Self { model, folder: tempfile::tempdir().unwrap() })
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, args: &[&str]) -> Command {
        self.with_model(&["chat"], args)
    }

    /// Another command that asks the same model.
    fn with_model(&self, words: &[&str], args: &[&str]) -> Command {
        let base_url = self.model.base_url();
        self.program(&[words, &["--base-url", &base_url, "--model", "scripted"], args].concat())
    }

    /// The binary with what is kept here.
    fn program(&self, args: &[&str]) -> Command {
        let mut command = command(args);
        command.env("SWITCHBOARD_DATA_DIR", self.folder().join("data"));
        command.env("SWITCHBOARD_CONFIG_DIR", self.folder().join("config")).env("TERM", "xterm");
        command
    }

    /// A conversation, at its first prompt.
    fn chat(&self, args: &[&str]) -> Talk {
        let mut talk = Talk(Terminal::whole(self.command(args)));
        talk.prompted();
        talk
    }

    /// A conversation that goes on, once it has shown these words of before.
    fn resumed(&self, args: &[&str], words: &str) -> Talk {
        let mut talk = Talk(Terminal::whole(self.command(args)));
        talk.0.wait_for(words);
        talk.prompted();
        talk
    }

    /// What the model was asked, as text.
    fn chats(&self) -> Vec<String> {
        self.model.chats().iter().map(Value::to_string).collect()
    }
}

/// A conversation in a terminal.
struct Talk(Terminal);

impl Talk {
    fn prompted(&mut self) {
        self.0.wait_for("› ");
    }

    /// Types a line at the prompt, waits for these words and for the next prompt.
    fn say(&mut self, line: &str, words: &[&str]) {
        self.0.type_line(line);
        for words in words {
            self.0.wait_for(words);
        }
        self.prompted();
    }

    /// Types a line at the prompt and answers questions: waits for the first words of each pair, types the second.
    fn answer(&mut self, line: &str, answers: &[(&str, &str)]) {
        self.0.type_line(line);
        for (words, typed) in answers {
            self.0.wait_for(words);
            self.0.type_line(typed);
        }
    }

    fn leave(mut self) -> Ran {
        self.0.press(&[4]);
        self.0.end().expect(0)
    }
}

/// Plays a conversation with these turns: the lines that are typed, with the words that follow each.
async fn play(turns: Value, args: &[&str], lines: &[(&str, &[&str])]) -> (Ran, Vec<String>) {
    let world = World::new(turns).await;
    let played = on_a_thread(&world, owned(args), {
        let lines: Vec<(String, Vec<String>)> =
            lines.iter().map(|(line, words)| ((*line).to_owned(), owned(words))).collect();
        move |world, args| {
            let mut talk = world.chat(&borrowed(&args));
            for (line, words) in &lines {
                talk.say(line, &borrowed(words));
            }
            talk.leave()
        }
    });
    let ran = played.await;
    world.model.verify().unwrap();
    (ran, world.chats())
}

/// Terminals block; the model must go on.
async fn on_a_thread<T: Send + 'static>(
    world: &Arc<World>,
    args: Vec<String>,
    play: impl FnOnce(&World, Vec<String>) -> T + Send + 'static,
) -> T {
    let world = Arc::clone(world);
    tokio::task::spawn_blocking(move || play(&world, args)).await.unwrap()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "call": [{ "name": name, "arguments": arguments }] })
}

/// `NAME=URL` of a server whose results are these by method; `Null` is a method that it does not have.
fn server(
    name: &str,
    capabilities: Value,
    result: impl Fn(&str, &Value) -> Value + Send + 'static,
) -> String {
    let base = canned::serve(move |request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let mut result = match asked["method"].as_str().unwrap_or_default() {
            "server/discover" => {
                json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
            }
            method => result(method, &asked["params"]),
        };
        if result.is_null() {
            let error = json!({ "code": -32601, "message": "no such method" });
            return (200, json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string());
        }
        for (name, value) in
            [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
        {
            if result[name].is_null() {
                result[name] = value;
            }
        }
        (200, json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string())
    });
    format!("{name}={base}/mcp")
}

/// A program that is a server with a tool `wait` that never answers, and that writes what it is told to a file.
fn deaf(log: &Path) -> Vec<String> {
    let complete = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    let script = format!(
        r#"while read -r line; do
            printf '%s\n' "$line" >> '{log}'
            id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
            case $line in
                *'"server/discover"'*) result='{{{complete},"supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}}}}';;
                *'"tools/list"'*) result='{{{complete},"tools":[{{"name":"wait","inputSchema":{{"type":"object"}}}}]}}';;
                *'"tools/call"'*|*'"notifications/'*) continue;;
                *) printf '{{"jsonrpc":"2.0","id":%s,"error":{{"code":-32601,"message":"no such method"}}}}\n' "$id"
                   continue;;
            esac
            printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
        done"#,
        log = log.display(),
    );
    vec!["sh".to_owned(), "-c".to_owned(), script]
}
