//! Which variables hold credentials, and who names them.

use std::collections::BTreeSet;

use crate::place::Place;

/// What each server must not inherit.
fn check(config: &str, server: &str, withheld: &[&str]) {
    let place = Place::empty();
    place.write("config/config.toml", config);
    let variables = place.load().variables;
    let found: BTreeSet<&str> = variables.withheld_from(server).collect();
    assert_eq!(found, withheld.iter().copied().collect(), "{server} of {config}");
}

#[test]
fn what_is_read_for_one_server_is_withheld_from_the_others() {
    for (entry, withheld) in [
        (
            "command = \"x\"\nenv = { A = \"${ONE}\", B = \"${env:TWO}${UNSET:-${THREE}}\" }",
            &["ONE", "TWO", "UNSET", "THREE"][..],
        ),
        ("url = \"http://h/${ONE}\"\nheaders = { X = \"Bearer ${TWO}\" }", &["ONE", "TWO"]),
        ("command = \"x\"\nenv = { PATH = \"${PATH}\", P = \"${https_proxy}\", L = \"${LC_ALL}\" }", &[]),
        ("command = \"${ROOT}/x\"\nargs = [\"${DIR}\"]\ncwd = \"${WORK}\"\nenv_file = \"${FILES}\"", &[]),
        ("command = \"x\"\nargs = [\"${X_TOKEN}\", \"--key=${API_KEY}\"]", &["X_TOKEN", "API_KEY"]),
        ("command = \"x\"\nenv = { A = \"$${ONE}\", B = \"${secret:files}\", C = \"${input:i}\" }", &[]),
        ("command = \"x\"\nenabled = false\nenv = { A = \"${ONE}\" }", &["ONE"]),
    ] {
        let config = format!("[servers.a]\n{entry}\n[servers.b]\ncommand = \"y\"\n");
        check(&config, "b", withheld);
        check(&config, "on the command line", withheld);
        check(&config, "a", &[]);
    }
    let both = "[servers.a]\ncommand = \"x\"\nargs = [\"${ONE}\"]\n[servers.b]\nurl = \"http://h/\"\nheaders = { X = \"${ONE}\" }\n";
    check(both, "a", &[]);
    check(both, "c", &["ONE"]);
}

#[test]
fn what_models_need_is_withheld_from_all_servers() {
    let config = "[models.m]\nkind = \"openai\"\nbase_url = \"http://h/${BASE}\"\nkey = \"${K:-${SPARE}}\"\nmodel = \"${NAME}\"\n[servers.a]\ncommand = \"x\"\n";
    check(config, "a", &["BASE", "K", "SPARE"]);
}

#[test]
fn what_nobody_trusts_withholds_nothing() {
    let place = Place::empty();
    for disabled in ["", r#""disabled": true, "#] {
        let entry = format!(
            r#"{{ "mcpServers": {{ "a": {{ {disabled}"command": "x", "env": {{ "A": "${{ONE}}" }} }} }} }}"#
        );
        place.write("project/.mcp.json", &entry);
        assert_eq!(place.load().variables.withheld_from("b").count(), 0, "{entry}");
    }
    place.write(
        "project/.mcp.json",
        r#"{ "mcpServers": { "a": { "command": "x", "env": { "A": "${ONE}" } } } }"#,
    );
    place.trust_all();
    assert_eq!(place.load().variables.withheld_from("b").collect::<Vec<_>>(), ["ONE"]);
}
