//! What models see of tools, through the binary: what is lost, what it costs, and why a tool is hidden.

use serde_json::{Value, json};
use switchboard_testkit::canned;

use crate::program::{Ran, command, finish, run};

/// A server with tools of every kind, in a home of its own.
struct World {
    folder: tempfile::TempDir,
    url: String,
}

impl World {
    fn new() -> Self {
        let tools = json!([
            {"name": "plain", "description": "Does it.", "inputSchema": {"type": "object",
                "properties": {"a": {"type": "string", "description": "What"}}, "required": ["a"]}},
            {"name": "union", "description": "Takes either.", "inputSchema": {"type": "object",
                "properties": {"x": {"type": "string"}, "y": {"type": "string"}},
                "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}},
            {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}},
            {"name": "mail", "inputSchema": {"type": "object",
                "properties": {"to": {"type": "string", "pattern": "^(?!x).*@.*$"}}, "required": ["to"]}},
            {"name": "secret_one", "description": "Not for you.", "inputSchema": {"type": "object"}},
            {"name": "other.name", "description": "Has a dot.", "inputSchema": {"type": "object"}},
        ]);
        let url = canned::serve(move |request| {
            let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
            let mut result = match asked["method"].as_str().unwrap_or_default() {
                "server/discover" => {
                    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                }
                _ => json!({ "tools": tools }),
            };
            result["resultType"] = "complete".into();
            result["cacheScope"] = "private".into();
            result["ttlMs"] = 0.into();
            (200, json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string())
        });
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "[servers.many]\nurl = \"{url}/mcp\"\ntools = {{ exclude = [\"secret_*\"] }}\n\
             [servers.off]\nurl = \"{url}/mcp\"\nenabled = false\n\
             [servers.gone]\ncommand = \"not-a-program-at-all\"\n\
             [[policy.rules]]\naction = \"deny\"\nserver = \"many\"\ntool = \"mail\"\n"
        );
        std::fs::create_dir_all(folder.path().join("config")).unwrap();
        std::fs::write(folder.path().join("config/config.toml"), config).unwrap();
        Self { folder, url }
    }

    fn run(&self, args: &[&str]) -> Ran {
        let home = self.folder.path();
        let mut command = command(args);
        command.env("HOME", home).env("SWITCHBOARD_CONFIG_DIR", home.join("config"));
        command.env("SWITCHBOARD_DATA_DIR", home.join("data")).current_dir(home);
        finish(command.spawn().unwrap())
    }
}

fn tool<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn what_models_do_not_see_is_told_with_what_to_do() {
    let world = World::new();
    let many = format!("many={}/mcp", world.url);
    let report = world.run(&["tools", "lint", "--json", "--server", &many]).expect(0).json();
    assert_eq!(report["dialects"].as_array().unwrap().len(), 5);
    assert_eq!(report["offered"], 5);
    let union = tool(&report, "union");
    assert_eq!(union["lost"]["anthropic"][0]["what"], "anyOf", "{union}");
    assert_eq!(union["lost"]["anthropic"][0]["narrows"], false, "{union}");
    assert!(union["lost"]["gemini"][0]["suggestion"].is_string(), "{union}");
    assert_eq!(tool(&report, "mail")["lost"]["anthropic"], Value::Null);
    assert_eq!(tool(&report, "mail")["lost"]["openai"][0]["path"], "/properties/to");
    assert_eq!(tool(&report, "broken")["leftOut"]["all"]["cause"], "invalid");
    assert_eq!(*tool(&report, "plain"), Value::Null, "there is nothing to say about it");
    let warned = |name: &str| tool(&report, name)["warnings"].to_string();
    assert!(warned("mail").contains("no description") && warned("mail").contains("to"), "{}", warned("mail"));
    assert!(warned("other.name").contains("many_other_name_"), "{}", warned("other.name"));

    let ran = world.run(&["tools", "lint", "--server", &many, "--dialect", "anthropic"]).expect(0);
    assert!(ran.stdout.contains("many/union") && ran.stdout.contains("anyOf at /"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("pattern"), "{}", ran.stdout);
    world.run(&["tools", "lint", "--server", &many, "--deny"]).expect(1).says(&["1 tool cannot be offered"]);
    world.run(&["tools", "lint", "--server", &many, "--dialect", "x"]).expect(1).says(&["openai-strict"]);
    run(&["tools", "lint", "--demo", "--deny"]).expect(0);
}

#[test]
fn what_tools_cost_adds_up() {
    let args = ["tools", "cost", "--demo", "--json", "--context", "10000"];
    let report = run(&args).expect(0).json();
    let servers = report["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 3);
    let sum =
        |list: &Value| list.as_array().unwrap().iter().map(|of| of["tokens"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&report["servers"]), report["tokens"]);
    for server in servers {
        assert!(
            sum(&server["tools"]) == server["tokens"].as_u64().unwrap() && server["tokens"] != 0,
            "{server}"
        );
    }
    assert!(report["share"].as_f64().unwrap() > 0.1, "{report}");
    let ran = run(&["tools", "cost", "--demo", "--dialect", "gemini"]).expect(0);
    assert!(ran.stdout.contains("station") && ran.stdout.contains("all tools (gemini)"), "{}", ran.stdout);
}

#[test]
fn why_a_tool_is_hidden_is_said_with_the_next_action() {
    let world = World::new();
    for (tool, hidden, cause, words) in [
        ("many/plain", false, "asked", "not hidden"),
        ("many/secret_one", true, "filtered", "secret_*"),
        ("many/broken", true, "invalid", "#/nowhere"),
        ("many/mail", true, "denied", "deny many/mail"),
        ("many/plan", true, "no-tool", "lists no tool"),
        ("off/plain", true, "server-disabled", "switched off"),
        ("gone/x", true, "server-failed", "not-a-program-at-all"),
        ("nobody/x", true, "no-server", "no server is called"),
    ] {
        let answer = world.run(&["tools", "why-hidden", tool, "--json"]).expect(0).json();
        assert_eq!(
            (answer["hidden"].as_bool(), answer["cause"].as_str()),
            (Some(hidden), Some(cause)),
            "{answer}"
        );
        assert!(answer["reason"].as_str().unwrap().contains(words), "{answer}");
        assert!(!answer["next"].as_str().unwrap().is_empty(), "{answer}");
    }
    let ran = world.run(&["tools", "why-hidden", "many/secret_one"]).expect(0);
    assert!(ran.stdout.contains("many/secret_one: it is excluded by"), "{}", ran.stdout);
    world.run(&["tools", "why-hidden", "plain"]).expect(1).says(&["SERVER/TOOL"]);
    let ran = world.run(&["tools", "list"]).expect(0);
    assert!(
        !ran.stdout.contains("secret_one") && !ran.stderr.contains("secret_one"),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
}
