//! Hundreds of tools of several servers, and a program that is started again and again: what a model is sent of them
//! is the same, byte for byte, for each dialect.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use switchboard_llm::scripted::{Script, ScriptedModel};
use switchboard_testkit::canned;

use crate::program::{command, finish};

/// What the hostile server declares.
const HOSTILE: &str = include_str!("../../../agent/tests/data/hostile_tools.json");

/// Tools of five ordinary servers; with the hostile one's there are 312.
const ORDINARY: usize = 290;

/// Every dialect, with the wire that it is spoken on here.
const DIALECTS: [(&str, &str); 5] = [
    ("openai", "openai"),
    ("openai-strict", "openai"),
    ("anthropic", "anthropic"),
    ("gemini", "openai"),
    ("generic", "openai"),
];

fn ordinary(number: usize) -> Value {
    json!({
        "name": format!("tool_{number}"),
        "description": format!("Does what tool {number} does."),
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": format!("A text for tool {number}") },
                "range": { "anyOf": [{ "$ref": "#/$defs/Range" }, { "type": "null" }], "default": null },
            },
            "required": ["text"],
            "$defs": { "Range": { "type": "object", "properties": { "from": { "type": "string", "format": "date" } } } },
        },
    })
}

/// The URL of a server that lists these tools, in another order each time.
fn server(mut tools: Vec<Box<RawValue>>) -> String {
    let tools = std::sync::Mutex::new(move || {
        let by = 7 % tools.len().max(1);
        tools.rotate_left(by);
        serde_json::to_string(&tools).unwrap()
    });
    let base = canned::serve(move |request| {
        let asked: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let members = match asked["method"].as_str().unwrap_or_default() {
            "server/discover" => {
                r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#.to_owned()
            }
            "tools/list" => format!(r#""tools":{}"#, (tools.lock().unwrap())()),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                return (200, json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }).to_string());
            }
        };
        let complete = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
        (200, format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{{complete},{members}}}}}"#, asked["id"]))
    });
    format!("{base}/mcp")
}

fn servers() -> Vec<String> {
    let raw = |tool: Value| RawValue::from_string(tool.to_string()).unwrap();
    let mut servers: Vec<_> = (0..5)
        .map(|server| {
            (0..ORDINARY).filter(|tool| tool % 5 == server).map(|tool| raw(ordinary(tool))).collect()
        })
        .map(server)
        .enumerate()
        .map(|(number, url)| format!("server-{number}={url}"))
        .collect();
    servers.push(format!("hostile={}", server(serde_json::from_str(HOSTILE).unwrap())));
    servers
}

fn configuration(folder: &Path, base_url: &str) {
    let model = |(dialect, kind): (&str, &str)| {
        format!(
            "[models.{dialect}]\nkind = \"{kind}\"\nbase_url = \"{base_url}\"\nmodel = \"{dialect}\"\ndialect = \"{dialect}\"\n"
        )
    };
    std::fs::create_dir_all(folder.join("config")).unwrap();
    std::fs::write(folder.join("config/config.toml"), DIALECTS.map(model).concat()).unwrap();
}

/// The model that a request goes to, and the tools in it as they were written.
fn sent(request: &[u8]) -> (String, String) {
    #[derive(serde::Deserialize)]
    struct Sent<'a> {
        model: String,
        #[serde(borrow)]
        tools: &'a RawValue,
    }
    let Sent { model, tools } = serde_json::from_slice(request).unwrap();
    (model, tools.get().to_owned())
}

/// The names of these tools, none of them twice.
fn names(tools: &str) -> HashSet<String> {
    let tools: Vec<Value> = serde_json::from_str(tools).unwrap();
    let name = |tool: &Value| tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned);
    let names: HashSet<String> = tools.iter().map(|tool| name(tool).unwrap()).collect();
    assert_eq!(names.len(), tools.len(), "a name stands there twice");
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_starts_send_the_same_bytes() {
    let script = json!({ "turns": [{ "say": "Done." }], "repeat": true });
    let model = ScriptedModel::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    configuration(folder.path(), &model.base_url());
    let mut servers = servers();
    for _ in 0..10 {
        // Another order on the command line, too.
        servers.rotate_left(1);
        let named: Vec<_> = servers.iter().flat_map(|server| ["--server", server]).collect();
        // A program for each dialect, all on one folder at once.
        let started = DIALECTS.map(|(dialect, _)| {
            let mut command = command([&["run", "Hello", "--model", dialect][..], &named].concat());
            command.env("SWITCHBOARD_CONFIG_DIR", folder.path().join("config"));
            command.env("SWITCHBOARD_DATA_DIR", folder.path().join("data"));
            tokio::task::spawn_blocking(move || finish(command.spawn().unwrap()))
        });
        for ran in started {
            ran.await.unwrap().expect(0);
        }
    }
    let mut by_model: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (model, tools) in model.requests().iter().map(|request| sent(&request.bytes)) {
        by_model.entry(model).or_default().push(tools);
    }
    assert_eq!(by_model.len(), DIALECTS.len());
    for (dialect, starts) in by_model {
        assert_eq!(starts.len(), 10, "{dialect}");
        assert!(names(&starts[0]).len() > ORDINARY, "{dialect}: {} tools", names(&starts[0]).len());
        assert!(starts.iter().all(|tools| *tools == starts[0]), "{dialect}: a start sent something else");
    }
}
