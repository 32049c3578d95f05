//! The configuration through the binary: servers of files are used, listed and changed; secrets are kept.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Ran, command, finish, over_stdio};

/// A home and a project of its own.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(TempDir::new().unwrap());
        fs::create_dir_all(home.at("project/.git")).unwrap();
        home
    }

    pub(crate) fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = command(args);
        command.env("HOME", self.0.path()).env("SWITCHBOARD_CONFIG_DIR", self.at("config"));
        command.env("SWITCHBOARD_DATA_DIR", self.at("data")).current_dir(self.at("project"));
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args).spawn().unwrap())
    }

    pub(crate) fn run_with(&self, args: &[&str], stdin: &str) -> Ran {
        use std::io::Write as _;
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
        finish(child)
    }

    /// The servers as name and state.
    fn states(&self) -> Vec<(String, String)> {
        let list = self.run(&["servers", "list", "--json"]).expect(0).json();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        list["servers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (text(row, "name"), text(row, "state")))
            .collect()
    }

    fn check_states(&self, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(name, state)| ((*name).to_owned(), (*state).to_owned())).collect();
        assert_eq!(self.states(), expected);
    }
}

/// A server of the demo in the shape of most products.
fn entry(server: &str) -> Value {
    let [program, args @ ..] = over_stdio(server);
    json!({ "command": program, "args": args })
}

fn mcp_servers(servers: &[(&str, Value)]) -> String {
    let servers: serde_json::Map<_, _> =
        servers.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect();
    json!({ "mcpServers": servers }).to_string()
}

#[test]
fn configured_servers_are_used_where_none_is_named() {
    let home = Home::new();
    home.write(
        ".cursor/mcp.json",
        &mcp_servers(&[
            ("sums", entry("calculator")),
            ("unset", json!({ "command": "x", "env": { "K": "${NOT_SET_ANYWHERE}" } })),
        ]),
    );
    let ran = home.run(&["tools", "list"]).expect(0);
    assert!(ran.stdout.contains("sums/calculator_arithmetic"), "{}", ran.stdout);
    let ran =
        ran.says(&["mcp.json:1:", "server unset: ", "NOT_SET_ANYWHERE is not set", "going on without it"]);
    assert!(ran.stderr.contains("hint: set NOT_SET_ANYWHERE"), "{}", ran.stderr);
    let arguments = r#"{"expression": "2 + 3"}"#;
    let call = ["tools", "call", "calculator_arithmetic", arguments, "--yes", "--json", "--servers", "sums"];
    let ran = home.run(&call).expect(0);
    assert_eq!(ran.json()["structuredContent"], json!({ "result": 5.0 }));
    assert!(!ran.stderr.contains("unset"), "what was not chosen is not warned of: {}", ran.stderr);
    home.run(&["run", "What is 2 + 3?", "--yes"]).expect(0).says(&["unset"]);
    let ran = home.run(&["inspect", "sums", "tools/list"]).expect(0);
    assert!(ran.stdout.contains("calculator_arithmetic"), "{}", ran.stdout);
    home.run(&["inspect", "unset", "tools/list"]).expect(1).says(&["NOT_SET_ANYWHERE"]);
    home.run(&["tools", "list", "--servers", "sum"])
        .expect(1)
        .says(&["no server is called", "did you mean sums?"]);
    home.run(&["tools", "list", "--servers", "unset"]).expect(1).says(&["NOT_SET_ANYWHERE"]);
    home.run(&["tools", "list", "--no-config"])
        .expect(1)
        .says(&["no server is configured, and none is named"]);
    let ran = home.run(&["tools", "list", "--demo"]).expect(0);
    assert!(!ran.stdout.contains("sums/"), "servers that are named are the only ones: {}", ran.stdout);
}

#[test]
fn a_required_server_that_does_not_start_ends_the_command() {
    let home = Home::new();
    let [program, args @ ..] = over_stdio("calculator");
    let text = format!(
        "[servers.sums]\ncommand = {program:?}\nargs = {args:?}\n[servers.gone]\ncommand = \"not-a-program-at-all\"\n"
    );
    home.write("config/config.toml", &text);
    home.run(&["tools", "list"]).expect(0).says(&["going on without gone"]);
    home.write("config/config.toml", &format!("{text}required = true\n"));
    home.run(&["tools", "list"]).expect(4).says(&["gone"]);
}

#[test]
fn what_a_project_names_waits_for_a_decision() {
    let home = Home::new();
    home.write("project/.mcp.json", &mcp_servers(&[("sums", entry("calculator"))]));
    home.check_states(&[("sums", "untrusted")]);
    home.run(&["tools", "list"])
        .expect(1)
        .says(&["sums is not trusted yet", "switchboard servers trust sums"]);
    home.run(&["tools", "list", "--servers", "sums"]).expect(1).says(&["not trusted yet"]);
    home.run(&["servers", "trust", "other"]).expect(1).says(&["nothing that waits"]);
    home.run(&["servers", "trust", "sums"]).expect(0).says(&["calculator", ".mcp.json:1"]);
    home.check_states(&[("sums", "enabled")]);
    home.run(&["tools", "list"]).expect(0);
    let mut changed = entry("calculator");
    changed["env"] = json!({ "LD_PRELOAD": "/tmp/x", "FROM": "${HOME}" });
    home.write("project/.mcp.json", &mcp_servers(&[("sums", changed)]));
    home.run(&["tools", "list"]).expect(1).says(&["has changed since it was trusted"]);
    home.run(&["servers", "trust", "--all"]).expect(0).says(&["LD_PRELOAD = /tmp/x", "given ${HOME}"]);
    home.check_states(&[("sums", "enabled")]);
    home.run(&["servers", "trust", "sums", "--revoke"]).expect(0);
    home.check_states(&[("sums", "untrusted")]);
}

#[test]
fn servers_are_listed_with_their_state_and_place() {
    let home = Home::new();
    home.write("config/config.toml", "# Mine.\n[servers.a]\ncommand = \"first\"\nargs = [\"--api-key\", \"sk-literal\"]\nenv = { TOKEN = \"tok-literal\" }\n[servers.typo]\ncomand = \"x\"\n");
    home.write(
        ".cursor/mcp.json",
        &mcp_servers(&[("a", json!({ "command": "second" })), ("b", json!({ "url": "ftp://x" }))]),
    );
    home.write(".codex/config.toml", "[mcp_servers.off]\ncommand = \"x\"\nenabled = false\n");
    home.check_states(&[("a", "enabled"), ("a", "shadowed"), ("b", "broken"), ("off", "disabled")]);
    let ran = home
        .run(&["servers"])
        .expect(0)
        .says(&["`comand` in [servers.typo] is not known", "did you mean `command`?"]);
    for part in [
        "first --api-key ***",
        "config.toml:2 (switchboard)",
        "mcp.json:1 (Cursor)",
        "not the address",
        "config.toml:1 (Codex)",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} is not in:\n{}", ran.stdout);
    }
    let list = home.run(&["servers", "list", "--json"]).expect(0);
    for secret in ["sk-literal", "tok-literal"] {
        assert!(!list.stdout.contains(secret) && !ran.stdout.contains(secret), "{secret}");
    }
    assert_eq!(list.json()["servers"][0]["origin"]["line"], 2);
    home.run(&["config", "check"]).expect(1).says(&["server b", "not the address"]);
}

#[test]
fn only_our_file_is_changed_and_keeps_its_comments() {
    let home = Home::new();
    let cursor = mcp_servers(&[("theirs", json!({ "command": "x" }))]);
    home.write("config/config.toml", "# Mine.\n[servers.a] # the first\ncommand = \"x\"\n")
        .write(".cursor/mcp.json", &cursor);
    home.run(&["servers", "disable", "theirs"]).expect(0);
    home.run(&["servers", "disable", "a"]).expect(0);
    home.check_states(&[("a", "disabled"), ("theirs", "disabled")]);
    assert_eq!(
        home.read("config/config.toml"),
        "# Mine.\n[servers.a] # the first\ncommand = \"x\"\nenabled = false\n\n[servers.theirs]\nenabled = false\n"
    );
    home.run(&["servers", "enable", "theirs"]).expect(0);
    home.run(&["servers", "enable", "a"]).expect(0);
    home.check_states(&[("a", "enabled"), ("theirs", "enabled")]);
    let added = ["servers", "add", "new", "--env", "KEY=${secret:k}", "--", "npx", "-y", "a b"];
    home.run(&added).expect(0);
    home.run(&added).expect(1).says(&["already", "--replace"]);
    home.run(&["servers", "add", "web", "https://h.example/mcp", "--header", "X: ${K:-1}"]).expect(0);
    home.run(&["servers", "add", "bad", "ftp://h"]).expect(1).says(&["not the URL"]);
    home.run(&["servers", "add", "a/b", "https://h"]).expect(1).says(&["cannot name a server"]);
    let text = home.read("config/config.toml");
    for part in
        ["# the first", "[servers.new]\ncommand = \"npx\"\nargs = [\"-y\", \"a b\"]", "KEY = \"${secret:k}\""]
    {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    home.run(&["servers", "remove", "new"]).expect(0);
    home.run(&["servers", "remove", "new"]).expect(1).says(&["no server is called"]);
    home.write("config/config.toml", "");
    home.run(&["servers", "remove", "theirs"])
        .expect(1)
        .says(&["other files are never changed", "disable theirs"]);
    assert_eq!(home.read(".cursor/mcp.json"), cursor);
    home.run(&["servers", "add", "shared", "https://h/", "--project"]).expect(0);
    assert!(home.read("project/.switchboard.toml").contains("[servers.shared]"));
    home.write("config/config.toml", "[servers");
    home.run(&["servers", "disable", "theirs"]).expect(1).says(&["config.toml:1:", "correct the file first"]);
    assert_eq!(home.read("config/config.toml"), "[servers");
}

#[test]
fn servers_go_from_and_to_other_products() {
    let home = Home::new();
    home.write(
        "project/.vscode/mcp.json",
        r#"{ "servers": { "a": { "command": "x", "args": ["${input:key}"] } } }"#,
    );
    let ran = home.run(&["servers", "import", "vscode"]).expect(0).says(&["servers trust a"]);
    assert!(ran.stdout.contains("a comes with the project and is not trusted"), "{}", ran.stdout);
    assert!(!home.at("config/config.toml").exists());
    home.run(&["servers", "trust", "a"]).expect(0);
    let ran = home.run(&["servers", "import", "vscode", "--dry-run"]).expect(0).says(&["secrets set key"]);
    assert!(ran.stdout.contains("a would be added: x ${input:key}"), "{}", ran.stdout);
    assert!(!home.at("config/config.toml").exists());
    home.run(&["servers", "import", "vscode"]).expect(0);
    assert!(home.read("config/config.toml").contains("${secret:key}"));
    let again = home.run(&["servers", "import", "project.json", "--json"]).expect(1);
    assert!(again.error()["message"].as_str().unwrap().contains("no such file"));
    home.write(
        "project/project.json",
        &mcp_servers(&[("a", json!({ "command": "y" })), ("b", json!({ "command": "y" }))]),
    );
    let imported = home.run(&["servers", "import", "project.json", "--json"]).expect(0).json();
    let changes: Vec<_> =
        imported["servers"].as_array().unwrap().iter().map(|row| row["change"].clone()).collect();
    assert_eq!(changes, ["kept", "added"]);
    let claude = home.run(&["servers", "export", "--format", "claude"]).expect(0).json();
    assert_eq!(claude["mcpServers"]["b"]["command"], "y");
    let vscode = home.run(&["servers", "export", "--format", "vscode"]).expect(0).json();
    assert_eq!(vscode["inputs"][0]["id"], "key");
    for (format, part) in [("codex", "[mcp_servers.b]"), ("toml", "[servers.b]")] {
        let ran = home.run(&["servers", "export", "--format", format]).expect(0);
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
}

#[test]
fn secrets_are_kept_used_and_never_shown() {
    let home = Home::new();
    home.write("config/config.toml", "[servers.sh]\ncommand = \"sh\"\nargs = [\"-c\", \"echo got $KEY >&2; exit 1\"]\nenv = { KEY = \"${secret:my.key}\" }\n");
    home.run(&["tools", "list"])
        .expect(1)
        .says(&["there is no secret \"my.key\"", "switchboard secrets set my.key"]);
    let ran = home.run_with(&["secrets", "set", "my.key"], "very-secret-value\n").expect(0);
    assert!(
        ran.stdout.contains("an encrypted file") && !ran.stdout.contains("very-secret"),
        "{}",
        ran.stdout
    );
    let ran = home.run(&["secrets", "list", "--json"]).expect(0);
    assert_eq!(ran.json(), json!({ "secrets": [{ "name": "my.key", "kept_in": "file" }] }));
    let ran = home.run(&["-v", "tools", "list"]).expect(4).says(&["got ***"]);
    assert!(!ran.stderr.contains("very-secret"), "{}", ran.stderr);
    home.run_with(&["secrets", "set", "my.key"], "").expect(1).says(&["empty"]);
    home.run(&["secrets", "remove", "my.key"]).expect(0);
    home.run(&["secrets", "remove", "my.key"]).expect(1).says(&["there is no secret"]);
}

#[test]
fn a_named_file_must_be_right() {
    let home = Home::new();
    home.write("project/mine.toml", "[servers.a]\ncommand = \n");
    home.run(&["tools", "list", "--config", "mine.toml"]).expect(1).says(&["mine.toml:2:11"]);
    home.run(&["tools", "list", "--config", "none.toml"]).expect(1).says(&["none.toml", "no such file"]);
    home.write("project/mine.json", &mcp_servers(&[("sums", entry("calculator"))]));
    let ran = home.run(&["tools", "list", "--config", "mine.json"]).expect(0);
    assert!(ran.stdout.contains("sums/"), "{}", ran.stdout);
    // One half-written file does not take the others down.
    home.write(".cursor/mcp.json", "{ \"mcpServers\": {");
    home.run(&["tools", "list", "--config", "mine.json"]).expect(0).says(&["mcp.json:1:", "Cursor"]);
}

#[cfg(unix)]
#[test]
fn on_a_terminal_the_person_is_asked_for_trust_and_for_inputs_once() {
    use crate::terminal::Terminal;
    let home = Home::new();
    let [program, args @ ..] = over_stdio("calculator");
    let inputs =
        json!([{ "type": "promptString", "id": "key", "description": "The key of it", "password": true }]);
    let servers = json!({ "sums": { "command": program, "args": args, "env": { "KEY": "${input:key}" } } });
    home.write("project/.vscode/mcp.json", &json!({ "inputs": inputs, "servers": servers }).to_string());
    let list = || Terminal::run(home.command(&["tools", "list"]));
    let mut no = list();
    no.wait_for("This project has a server: sums");
    no.wait_for("demo calculator --stdio");
    no.wait_for("[n] not this time: ");
    no.type_line("n");
    no.end().expect(1).says(&["not trusted yet"]);
    let mut yes = list();
    yes.wait_for("[y] trust it from now on");
    yes.wait_for(": ");
    yes.type_line("y");
    yes.wait_for("The key of it (input key)");
    yes.wait_for("not shown: ");
    yes.type_line("typed-secret");
    let ran = yes.end().expect(0);
    assert!(ran.stdout.contains("sums/") && !ran.stderr.contains("typed-secret"), "{}", ran.stderr);
    let again = list().end().expect(0);
    assert!(
        !again.stderr.contains("The key of it") && !again.stderr.contains("trust it"),
        "{}",
        again.stderr
    );
    // What was answered is kept for this project, and serves where nobody can be asked.
    home.run(&["tools", "list"]).expect(0);
    let mut set = Terminal::run(home.command(&["secrets", "set", "other"]));
    set.wait_for("value of other, which is not shown: ");
    set.type_line("typed-too");
    let ran = set.end().expect(0);
    assert!(!ran.stderr.contains("typed-too"), "{}", ran.stderr);
}

#[test]
fn the_schema_and_the_places_are_printed() {
    let home = Home::new();
    let printed = home.run(&["config", "schema"]).expect(0).json();
    let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/schema/config.schema.json");
    assert_eq!(printed, serde_json::from_str::<Value>(&fs::read_to_string(published).unwrap()).unwrap());
    let places = home.run(&["config", "path", "--json"]).expect(0).json();
    assert_eq!(places["configFile"], home.at("config/config.toml").display().to_string());
    home.run(&["config", "check"]).expect(0);
}

#[test]
fn a_secret_that_hides_nothing_leaves_what_we_say_readable_and_is_warned_of() {
    let home = Home::new();
    let mut server = entry("calculator");
    server["env"] = json!({ "TOKEN": "${secret:k}" });
    home.write(".cursor/mcp.json", &mcp_servers(&[("sums", server)]));
    for (value, why) in [
        ("servers", "it is a word that Switchboard"),
        ("message", "it is a word that Switchboard"),
        ("arguments", "it is a word that Switchboard"),
        ("abc", "it is shorter than 6 bytes"),
    ] {
        let warning = format!("k is not masked where it appears: {why}");
        home.run_with(&["secrets", "set", "k"], value).expect(0).says(&[&warning]);
        let doctor = home.run(&["doctor", "--no-servers"]).expect(0).stdout;
        let warning =
            format!("warning  secrets: a secret of server sums is not masked where it appears: {why}");
        assert_eq!(doctor.matches(&warning).count(), 1, "{doctor}");
        let ran = home.run(&["run", "What is 2 + 3?", "--yes", "--ephemeral", "--json", "-v"]).expect(0);
        assert_eq!(ran.json()["calls"][0]["arguments"], json!({ "expression": "2 + 3" }), "{value}");
        let ran = home.run(&["tools", "call", "absent", "{}", "--yes", "--json"]).expect(1);
        assert!(ran.error()["hint"].is_string() && !ran.stderr.contains("***"), "{}", ran.stderr);
    }
    let ran = home.run_with(&["secrets", "set", "k"], "hunter2hunter2").expect(0);
    assert!(!ran.stderr.contains("not masked"), "{}", ran.stderr);
    let doctor = home.run(&["doctor", "--no-servers"]).expect(0).stdout;
    assert!(!doctor.contains("not masked"), "{doctor}");
}

/// What is pinned is a server with what it is given; of another one it is said what is other about it.
#[test]
fn pins_say_which_part_of_a_command_is_another() {
    let home = Home::new();
    let mut server = entry("calculator");
    server["env"] = json!({ "TOKEN": "c4nary-one", "LOG_LEVEL": "info" });
    home.write(".cursor/mcp.json", &mcp_servers(&[("sums", server.clone())]));
    home.run(&["pins", "accept", "sums"]).expect(0);
    server["env"] = json!({ "TOKEN": "c4nary-two", "LOG_LEVEL": "debug", "NEW": "c4nary-new" });
    home.write(".cursor/mcp.json", &mcp_servers(&[("sums", server)]));
    let diff = home.run(&["pins", "diff"]).expect(0).stdout;
    for part in [
        "- variable LOG_LEVEL: info",
        "+ variable LOG_LEVEL: debug",
        "- variable TOKEN: *** (#",
        "+ variable TOKEN: *** (#",
        "+ variable NEW: *** (#",
        "  argument: --stdio",
    ] {
        assert!(diff.contains(part), "{part:?} is not in:\n{diff}");
    }
    assert!(!diff.contains("c4nary"), "{diff}");
    let kept = home.run(&["pins", "export"]).expect(0).stdout;
    assert!(!kept.contains("c4nary"), "{kept}");
}
