//! What a server that is started inherits: everything but what is somebody else's credential.

use std::collections::BTreeMap;
use std::fs;

use crate::config::Home;
use crate::program::finish;

/// Writes down its environment and ends.
const SCRIPT: &str = "env > \"$OUT\"; exit 3";

const CONFIG: &str = r#"
[models.mine]
kind = "openai"
base_url = "http://127.0.0.1:1/${MODEL_PATH}"
key = "${MODEL_CREDENTIAL}"

[servers.one]
command = "sh"
args = ["-c", "env > \"$$OUT\"; exit 3", "${ROOT}", "${ONES_PASSWORD}"]
env = { MINE = "${ONES_ENV}", PATH = "${PATH}", HTTPS_PROXY = "${HTTPS_PROXY}" }

[servers.two]
command = "sh"
args = ["-c", "env > \"$$OUT\"; exit 3"]
env = { OPENAI_API_KEY = "${OPENAI_API_KEY}" }

[servers.far]
url = "http://127.0.0.1:1/${FARS_PATH}"
headers = { X = "${env:FARS_HEADER}", Y = "${UNSET:-${FARS_DEFAULT}}" }
enabled = false
"#;

/// Every variable that is set, and who keeps it: `one`, `two` and what is started by a command.
const KEPT: &[(&str, &[&str])] = &[
    ("ONES_ENV", &["one"]),
    ("ONES_PASSWORD", &["one"]),
    ("ROOT", &["one", "two", "command"]),
    ("HTTPS_PROXY", &["one", "two", "command"]),
    ("OTHER_TOKEN", &["one", "two", "command"]),
    ("OPENAI_API_KEY", &["two"]),
    ("AZURE_OPENAI_API_KEY", &[]),
    ("MODEL_CREDENTIAL", &[]),
    ("MODEL_PATH", &[]),
    ("FARS_PATH", &[]),
    ("FARS_HEADER", &[]),
    ("FARS_DEFAULT", &[]),
    ("BEARER", &[]),
    ("SWITCHBOARD_INPUT_TOKEN", &[]),
];

/// Runs a command and checks what the server that it starts got.
fn check(who: &str, args: &[&str], withheld: &[&str]) {
    let home = Home::new();
    home.write("config/config.toml", CONFIG);
    let mut command = home.command(args);
    command.envs(KEPT.iter().map(|(name, _)| (name, "v"))).env("OUT", home.at("out"));
    let ran = finish(command.spawn().unwrap());
    let said = format!("{args:?}\n{}{}", ran.stdout, ran.stderr);
    let environment = fs::read_to_string(home.at("out")).unwrap_or_else(|error| panic!("{error}: {said}"));
    let environment: BTreeMap<&str, &str> =
        environment.lines().filter_map(|line| line.split_once('=')).collect();
    for (name, keepers) in KEPT {
        let is_kept = keepers.contains(&who) || *name == "BEARER" && !withheld.contains(name);
        assert_eq!(environment.contains_key(name), is_kept, "{name} for {who} in {said}");
    }
    for name in ["PATH", "HOME"] {
        assert!(environment.contains_key(name), "{name} for {who} in {said}");
    }
}

#[test]
fn a_server_inherits_nothing_that_is_somebody_elses_credential() {
    let script = ["sh", "-c", SCRIPT];
    let whole = format!("sh -c '{SCRIPT}'");
    for who in ["one", "two"] {
        check(who, &["servers", "test", who], &[]);
        check(who, &["inspect", who, "tools/list"], &[]);
        check(who, &["tools", "list", "--servers", who], &[]);
        check(who, &["run", "x", "--yes", "--servers", who], &[]);
    }
    check("command", &["inspect", &whole, "tools/list"], &[]);
    check("command", &[&["tools", "list", "--"][..], &script].concat(), &[]);
    check("command", &[&["run", "x", "--yes", "--"][..], &script].concat(), &[]);
}

#[test]
fn a_server_inherits_no_token_of_a_server_beside_it() {
    let bearer = ["--server", "far=http://127.0.0.1:1/mcp", "--bearer-env", "far=BEARER"];
    for head in [&["tools", "list"][..], &["run", "x", "--yes"]] {
        for (who, more) in [("command", &["--", "sh", "-c", SCRIPT][..]), ("two", &["--servers", "two"])] {
            check(who, &[head, &bearer, more].concat(), &["BEARER"]);
        }
    }
}
