//! Rules as texts, in files, and held against calls.

use serde_json::json;

use super::*;

#[test]
fn a_rule_survives_its_text_and_its_file() {
    for (text, shown) in [
        ("allow station", "allow station/*"),
        ("  deny   */delete_* ", "deny */delete_*"),
        ("allow s/a tool", "allow s/a tool"),
        (r#"allow f/w where p inside ["/a b", "~/c"]"#, r#"allow f/w where p inside ["/a b","~/c"]"#),
        ("allow 's/a where b'", r#"allow "s/a where b""#),
        ("ask \"s/t\u{200b}\"", "ask \"s/t\\u200b\""),
        ("allow f/w where path inside ~/docs", "allow f/w where path inside ~/docs"),
        (
            "allow f/w if not destructive and idempotent mode headless where path inside '~/my docs' and text \
             max_bytes 10",
            r#"allow f/w where path inside "~/my docs" and text max_bytes 10 if not destructive and idempotent mode headless"#,
        ),
        (
            r#"deny * where url host_in "a.example, *.b.example:8080" principal ci-* because "nobody \"needs\" it""#,
            r#"deny */* where url host_in a.example,*.b.example:8080 principal ci-* because "nobody \"needs\" it""#,
        ),
        ("allow g/run where args[*] matches 'a b'", r#"allow g/run where args[*] matches "a b""#),
        (r"allow g/run where a.b matches \d+", r"allow g/run where a.b matches \d+"),
        (r#"allow g/r where x equals "1""#, r#"allow g/r where x equals "1""#),
        ("allow g/r where x equals 1", "allow g/r where x equals 1"),
        ("allow g/r where x equals word", "allow g/r where x equals word"),
        (r#"allow g/r where x equals {"b": [null, true]}"#, r#"allow g/r where x equals {"b":[null,true]}"#),
        (r#"allow g/r where x equals "and""#, r#"allow g/r where x equals "and""#),
        ("allow g/r where /a~1b equals null", "allow g/r where /a~1b equals null"),
        ("ask */* if open_world and not read_only", "ask */* if not read_only and open_world"),
    ] {
        let rule: Rule = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rule.to_string(), shown);
        assert_eq!(shown.parse::<Rule>().unwrap(), rule, "{shown}");
        let file = serde_json::to_value(&rule).unwrap();
        assert_eq!(serde_json::from_value::<Rule>(file.clone()).unwrap(), rule, "{file}");
    }
}

#[test]
fn a_file_holds_what_a_line_holds() {
    let file = json!({
        "action": "allow",
        "server": "files",
        "tool": "write_*",
        "annotations": { "destructive": false },
        "arguments": [{ "path": "path", "inside": "~/docs" }, { "path": "n", "equals": null }],
        "mode": "headless",
        "principal": "ci",
        "reason": "nightly",
    });
    let rule: Rule = serde_json::from_value(file.clone()).unwrap();
    let line = "allow files/write_* where path inside ~/docs and n equals null if not destructive mode headless \
                principal ci because nightly";
    assert_eq!(rule.to_string(), line);
    assert_eq!(serde_json::to_value(&rule).unwrap(), file);
    let short: Rule = serde_json::from_value(json!({ "action": "deny" })).unwrap();
    assert_eq!(short.to_string(), "deny */*");
}

#[test]
fn what_is_no_rule_says_why() {
    for (text, says) in [
        ("", "it lacks the pattern"),
        ("allow", "it lacks the pattern"),
        ("permit s/*", "it does not begin with an action"),
        ("allow ***/x", "*** stands for a secret that is not shown, and not for a name"),
        ("allow s/a***", "*** stands for a secret that is not shown, and not for a name"),
        ("allow /x", "it lacks the server or the tool"),
        ("allow s/", "it lacks the server or the tool"),
        ("deny  /", "it lacks the server or the tool"),
        ("allow where x equals 1", "it lacks the server or the tool"),
        ("allow s/t where", "it lacks the argument"),
        ("allow s/t where x", "it lacks the test"),
        ("allow s/t where x inside", "it lacks what"),
        ("allow s/t where x under /a", "is no test"),
        ("allow s/t where x inside docs", "must begin with /"),
        ("allow s/t where x matches (", "is no regular expression"),
        ("allow s/t where x max_bytes many", "whole number"),
        ("allow s/t where x host_in ,", "is no host"),
        ("allow s/t where a..b equals 1", "names no argument"),
        ("allow s/t where x equals \"a", "is not closed"),
        ("allow s/t where x equals 'a", "is not closed"),
        ("allow s/t if deadly", "an annotation is"),
        ("allow s/t if read_only and not read_only", "twice"),
        ("allow s/t mode later", "a mode is"),
        ("allow s/t mode headless mode headless", "twice"),
        ("allow s/t where x equals 1 sometimes", "does not say what"),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    for file in [
        json!({ "action": "allow", "server": "a/b" }),
        json!({ "action": "allow", "tool": "" }),
        json!({ "action": "allow", "tols": "x" }),
        json!({ "action": "allow", "arguments": [{ "path": "x" }] }),
        json!({ "action": "allow", "arguments": [{ "path": "x", "inside": "/a", "max_bytes": 1 }] }),
        json!({ "action": "allow", "arguments": [{ "path": "x", "within": "/a" }] }),
        json!({ "action": "allow", "annotations": { "readonly": true } }),
        json!({ "server": "s" }),
    ] {
        assert!(serde_json::from_value::<Rule>(file.clone()).is_err(), "{file}");
    }
}

fn tool(annotations: &Value) -> Tool {
    let text = json!({ "name": "t", "inputSchema": { "type": "object" }, "annotations": annotations });
    serde_json::from_value(text).unwrap()
}

#[test]
fn annotations_count_only_where_the_server_is_trusted() {
    let server = ServerName::new("s").unwrap();
    let matches = |rule: &str, annotations: &Value, trusted| {
        let rule: Rule = rule.parse().unwrap();
        let tool = tool(annotations);
        let case = Case {
            server: &server,
            tool: &tool,
            trusted,
            arguments: None,
            presence: Presence::Interactive,
            principal: None,
            place: Place::default(),
        };
        rule.judge(&case).is_ok()
    };
    let (reads, destroys, says_nothing) =
        (json!({ "readOnlyHint": true }), json!({ "destructiveHint": true }), json!({}));
    for (rule, annotations, trusted, untrusted) in [
        ("allow s/t if read_only", &reads, true, false),
        ("allow s/t if read_only", &says_nothing, false, false),
        ("allow s/t if not destructive", &reads, true, false),
        ("allow s/t if destructive", &destroys, true, false),
        // What says nothing counts as the specification has it: it may destroy, and reaches the world.
        ("deny s/t if destructive", &says_nothing, true, true),
        ("deny s/t if destructive", &reads, false, true),
        ("deny s/t if not read_only", &reads, false, true),
        ("deny s/t if read_only", &reads, true, false),
        ("ask s/t if open_world", &says_nothing, true, true),
        ("ask s/t if open_world", &json!({ "openWorldHint": false }), false, true),
        ("ask s/t if idempotent", &json!({ "idempotentHint": true }), true, false),
    ] {
        assert_eq!(matches(rule, annotations, true), trusted, "{rule} {annotations} trusted");
        assert_eq!(matches(rule, annotations, false), untrusted, "{rule} {annotations} untrusted");
    }
}

#[test]
fn who_and_how_count_and_what_is_unknown_counts_against_the_call() {
    let (server, tool) = (ServerName::new("s").unwrap(), tool(&json!({})));
    for (rule, presence, principal, expected) in [
        ("allow s/t mode headless", Presence::Headless, None, true),
        ("allow s/t mode headless", Presence::Interactive, None, false),
        ("deny s/t mode interactive", Presence::Headless, None, false),
        ("allow s/t principal ci-*", Presence::Headless, Some("ci-1"), true),
        ("allow s/t principal ci-*", Presence::Headless, Some("me"), false),
        ("allow s/t principal ci-*", Presence::Headless, None, false),
        ("deny s/t principal ci-*", Presence::Headless, None, true),
        ("deny s/t principal ci-*", Presence::Headless, Some("me"), false),
        ("allow s/t where x equals 1", Presence::Headless, None, false),
        ("deny s/t where x equals 1", Presence::Headless, None, true),
        ("ask s/t where x equals 1", Presence::Headless, None, true),
    ] {
        let rule: Rule = rule.parse().unwrap();
        let arguments = json!({});
        let arguments = Some(&arguments);
        let case = Case {
            server: &server,
            tool: &tool,
            trusted: false,
            arguments,
            presence,
            principal,
            place: Place::default(),
        };
        assert_eq!(rule.judge(&case).is_ok(), expected, "{rule} {presence} {principal:?}");
    }
}
