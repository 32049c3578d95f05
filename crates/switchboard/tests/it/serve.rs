//! `switchboard serve`: what it prints, and that a pause outlives the process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command};

use serde_json::{Value, json};
use switchboard_llm::scripted::{Script, ScriptedModel};

use crate::program::{command, over_stdio};

/// A running `switchboard serve`. It is killed when it is dropped.
pub(crate) struct Serving {
    pub(crate) child: Child,
    address: String,
    token: String,
    /// Kept open: the program says more later.
    _stdout: Box<dyn std::io::Read>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(folder: &Path, address: &str) -> Command {
    let config = folder.join("config.toml");
    let config = config.to_str().unwrap();
    let mut command = command(["--json", "--config", config, "serve", "--listen", address]);
    command.env("SWITCHBOARD_DATA_DIR", folder.join("data"));
    command
}

impl Serving {
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_with(folder, &[])
    }

    /// Starts it with the configuration in this folder and these variables.
    pub(crate) fn start_with(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = serve(folder, "127.0.0.1:0").envs(variables.iter().copied()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        let text = |member: &str| said[member].as_str().unwrap().to_owned();
        assert!(text("page").ends_with(&format!("/#token={}", text("token"))), "{said}");
        Self { child, address: text("address"), token: text("token"), _stdout: Box::new(stdout) }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value, status: u16) -> Value {
        // An error means that another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request =
            client.request(method, format!("http://{}{path}", self.address)).bearer_auth(&self.token);
        let request = if body.is_null() { request } else { request.body(body.to_string()) };
        let response = request.send().await.unwrap();
        let (got, text) = (response.status(), response.text().await.unwrap());
        assert_eq!(got, status, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"))
    }

    /// What an address answers, whatever it is.
    pub(crate) async fn text(&self, path: &str) -> String {
        self.text_of("GET", path).await
    }

    /// What a request is answered with, whatever it is.
    pub(crate) async fn text_of(&self, method: &str, path: &str) -> String {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request =
            client.request(method, format!("http://{}{path}", self.address)).bearer_auth(&self.token);
        request.send().await.unwrap().text().await.unwrap()
    }

    /// The memory that it has for itself, in kilobytes: the pages of a program that was not optimised say nothing.
    #[cfg(target_os = "linux")]
    fn own_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// A configuration with a model that plays a script, and one server as a child.
fn configure(folder: &Path, model: &ScriptedModel) {
    let words = over_stdio("calculator");
    let (program, args) = words.split_first().unwrap();
    let base_url = model.base_url();
    let text = format!(
        "[models.scripted]\nkind = \"openai\"\nbase_url = {base_url:?}\nmodel = \"scripted\"\n\n\
         [servers.calculator]\ncommand = {program:?}\nargs = {args:?}\nrequired = true\n"
    );
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

pub(crate) async fn scripted(turns: Value) -> ScriptedModel {
    ScriptedModel::start(serde_json::from_value::<Script>(json!({ "turns": turns })).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_outlives_the_process() {
    let model = scripted(json!([
        { "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "6 * 7" } }] },
        { "expect": { "last_role": "tool", "last_contains": "42" }, "say": "It is 42." },
    ]))
    .await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &model);
    let first = Serving::start(folder.path());
    let run = first.ask("POST", "/run", json!({ "input": "What is 6 times 7?" }), 202).await;
    assert_eq!(run["status"], "input_required", "{run}");
    let token = first.token.clone();
    // This is what `kill -9` does.
    drop(first);

    let second = Serving::start(folder.path());
    assert_eq!(second.token, token, "pages stay logged in");
    let path = format!("/run/{}", run["id"].as_str().unwrap());
    let waiting = second.ask("GET", &path, Value::Null, 200).await;
    assert_eq!((&waiting["status"], &waiting["requests"]), (&run["status"], &run["requests"]));
    let sessions = second.ask("GET", "/sessions", Value::Null, 200).await;
    assert_eq!(sessions[0]["state"], "input_required");
    let request = &run["requests"][0];
    let reply = json!({
        "request": request["id"],
        "reply": { "kind": "approval", "digest": request["question"]["digest"], "choice": "allow_once" },
    });
    let over = second.ask("POST", &format!("{path}/input"), reply.clone(), 200).await;
    assert_eq!((&over["status"], &over["answer"]), (&json!("finished"), &json!("It is 42.")), "{over}");
    second.ask("POST", &format!("{path}/input"), reply, 409).await;
    model.verify().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_left_in_the_middle_goes_on() {
    let model = scripted(json!([
        { "say": "This is never said to its end.", "hold": 40 },
        { "expect": { "last_role": "user" }, "say": "Done." },
    ]))
    .await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &model);
    let first = Serving::start(folder.path());
    let run = first.ask("POST", "/run?wait=false", json!({ "input": "Do it." }), 202).await;
    let path = format!("/run/{}", run["id"].as_str().unwrap());
    while model.requests().is_empty() {
        first.ask("GET", &path, Value::Null, 200).await;
    }
    drop(first);
    let second = Serving::start(folder.path());
    let left = second.ask("GET", &path, Value::Null, 200).await;
    assert_eq!(left["status"], "interrupted");
    let sessions = second.ask("GET", "/sessions", Value::Null, 200).await;
    assert_eq!(sessions[0]["state"], "interrupted");
    let over = second.ask("POST", &format!("{path}/resume"), Value::Null, 200).await;
    assert_eq!(over["answer"], "Done.", "{over}");
    let again = second.ask("POST", &format!("{path}/resume"), Value::Null, 200).await;
    assert_eq!(again["answer"], "Done.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_always_outlives_the_process() {
    let call = json!({ "call": [{ "name": "calculator__calculator_arithmetic", "arguments": { "expression": "1" } }] });
    let model = scripted(json!([call, { "say": "One." }, call, { "say": "One again." }])).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &model);
    let first = Serving::start(folder.path());
    let run = first.ask("POST", "/run", json!({ "input": "One?" }), 202).await;
    let request = &run["requests"][0];
    let offers = request["question"]["offers"].as_array().unwrap();
    let always = offers.iter().find(|offer| offer["choice"] == "allow_always").unwrap();
    let mut reply =
        json!({ "kind": "approval", "digest": request["question"]["digest"], "choice": "allow_always" });
    if let Some(rule) = always.get("rule") {
        reply["rule"] = rule.clone();
    }
    let path = format!("/run/{}/input", run["id"].as_str().unwrap());
    first.ask("POST", &path, json!({ "request": request["id"], "reply": reply }), 200).await;
    drop(first);
    let second = Serving::start(folder.path());
    let over = second.ask("POST", "/run", json!({ "input": "One?" }), 200).await;
    assert_eq!(over["answer"], "One again.", "{over}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_host_is_small() {
    let model = scripted(json!([])).await;
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &model);
    let serving = Serving::start(folder.path());
    serving.ask("GET", "/servers/calculator/tools", Value::Null, 200).await;
    #[cfg(target_os = "linux")]
    {
        let kilobytes = serving.own_memory();
        eprintln!("idle: {kilobytes} kB");
        assert!(kilobytes < 15_000, "{kilobytes} kB");
    }
}

#[test]
fn an_address_that_others_reach_needs_a_token_that_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.toml"), "").unwrap();
    let ran = crate::program::finish(serve(folder.path(), "0.0.0.0:0").spawn().unwrap());
    assert!(ran.code != 0 && ran.stderr.contains("no token was chosen"), "{ran:?}");
}
