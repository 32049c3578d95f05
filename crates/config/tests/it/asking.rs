//! Inputs: asked once, kept as secrets, and an error that says what to do where nobody can be asked.

use std::sync::{Arc, Mutex};

use switchboard_config::{Ask, Config, Input, SecretError, SecretStore, SecretString, Secrets, Target};

use crate::place::Place;

const FILE: &str = r#"{
    "inputs": [{ "type": "promptString", "id": "key", "description": "The key", "password": true }],
    "servers": {
        "a": { "command": "a", "env": { "K": "${input:key}" } },
        "b": { "command": "b", "env": { "K": "${input:key}" } },
        "c": { "command": "c" }
    }
}"#;

/// Answers, and remembers what it was asked.
#[derive(Clone, Default)]
struct Answers(Arc<Mutex<Vec<String>>>);

impl Ask for Answers {
    fn ask(&self, input: &Input) -> Option<SecretString> {
        self.0.lock().unwrap().push(input.description.clone());
        Some(SecretString::new("secret-answer"))
    }
}

fn value(config: &Config, name: &str) -> String {
    let server = config.servers.iter().find(|server| server.name == name).unwrap();
    let Target::Command { env, .. } = &server.target else { panic!("{server:?}") };
    env["K"].expose().to_owned()
}

#[test]
fn answers_for_a_project_below_a_folder_of_settings_are_its_own() {
    let mut place = Place::empty();
    let text = r#"{ "inputs": [{ "type": "promptString", "id": "key" }],
        "servers": { "a": { "command": "x", "args": ["${input:key}"] } } }"#;
    place.write("home/.config/project/.vscode/mcp.json", text);
    place.sources.directory = place.at("home/.config/project");
    place.trust_all();
    let hint = place.load().problems[0].hint.clone();
    assert!(hint.contains("secrets set input.key."), "{hint}");
}

#[test]
fn an_input_is_asked_once_and_kept() {
    let mut place = Place::empty();
    place.write("project/.vscode/mcp.json", FILE);
    place.trust_all();
    let answers = Answers::default();
    place.sources.secrets = Some(Arc::new(SecretStore::open(&place.at("data"), Some("file"))));
    place.sources.ask = Some(Arc::new(answers.clone()));
    place.sources.wanted = Some(vec!["c".to_owned()]);
    place.load();
    assert!(answers.0.lock().unwrap().is_empty(), "nothing is asked for what is not wanted");
    place.sources.wanted = None;
    let config = place.load();
    assert_eq!((value(&config, "a"), value(&config, "b")), ("secret-answer".into(), "secret-answer".into()));
    assert_eq!(*answers.0.lock().unwrap(), ["The key"]);
    assert!(!format!("{config:?}").contains("secret-answer"), "{config:?}");
    place.sources.ask = None;
    assert_eq!(value(&place.load(), "a"), "secret-answer", "it was kept");
    let stored = std::fs::read(place.at("data/secrets.sealed")).unwrap();
    assert!(!stored.windows(6).any(|part| part == b"answer"), "the value is sealed");
}

/// Knows every secret, and remembers which were looked up.
#[derive(Clone, Default)]
struct LookedUp(Arc<Mutex<Vec<String>>>);

impl Secrets for LookedUp {
    fn secret(&self, name: &str) -> Result<Option<SecretString>, SecretError> {
        self.0.lock().unwrap().push(name.to_owned());
        Ok(Some(SecretString::new("secret-value")))
    }

    fn keep(&self, _: &str, _: &SecretString) -> Result<(), SecretError> {
        Ok(())
    }
}

#[test]
fn no_secret_is_looked_up_before_it_is_wanted() {
    // A keychain may be slow, or ask the person.
    let mut place = Place::empty();
    let text = r#"
        [servers.a]
        command = "a"
        env = { K = "${secret:of-a}" }
        [servers.b]
        command = "b"
    "#;
    place.write("config/config.toml", text);
    let looked_up = LookedUp::default();
    place.sources.secrets = Some(Arc::new(looked_up.clone()));
    for wanted in [vec![], vec!["b".to_owned()]] {
        place.sources.wanted = Some(wanted);
        place.load();
        assert!(looked_up.0.lock().unwrap().is_empty());
    }
    place.sources.wanted = Some(vec!["a".to_owned()]);
    assert_eq!(value(&place.load(), "a"), "secret-value");
    assert_eq!(*looked_up.0.lock().unwrap(), ["of-a"]);
}

#[test]
fn where_nobody_can_be_asked_the_error_says_what_to_do() {
    let place = Place::empty();
    place.write("project/.vscode/mcp.json", FILE);
    place.trust_all();
    let config = place.load();
    let names: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["c"], "the others go on");
    let problem = &config.problems[0];
    assert_eq!((problem.server.as_deref(), problem.origin.line), (Some("a"), 4));
    assert_eq!(problem.variable.as_deref(), Some("${input:key}"));
    for part in ["SWITCHBOARD_INPUT_KEY", "switchboard secrets set input.key."] {
        assert!(problem.hint.contains(part), "{}", problem.hint);
    }
    let place = place.env(&[("SWITCHBOARD_INPUT_KEY", "from-environment")]);
    assert_eq!(value(&place.load(), "a"), "from-environment");
}
