//! Rules, approvals and what they are bound to.

mod gate;

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::authority::Decision;
use super::*;
use crate::digest::Digest;
use crate::exposure::Declared;
use crate::name::CallId;

fn exposure() -> Exposure {
    let tools = r#"[
        {"name": "get", "title": "Get it", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "delete", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true, "openWorldHint": true}},
        {"name": "write", "inputSchema": {"type": "object", "properties": {"path": {}, "text": {}}}}
    ]"#;
    let declared = Declared { tools: serde_json::from_str(tools).unwrap(), invalid: Vec::new() };
    Exposure::compile([(server("s"), declared)])
}

fn server(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

fn proposal(tool: &str, arguments: &str) -> Proposal {
    let exposure = exposure();
    Proposal::new(CallId(1), exposure.by_origin(&server("s"), tool).unwrap(), raw(arguments))
}

fn policy(mode: Mode, rules: &[&str]) -> Policy {
    rules.iter().fold(Policy::new(mode), |policy, rule| policy.rule(rule.parse().unwrap()))
}

fn decide(policy: Policy, proposal: Proposal) -> Decision {
    Authority::forgetful(policy).decide(proposal, &Scope::run())
}

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Allow(permit) => format!("allow by {}", permit.by()),
        Decision::Ask(approval) => format!("ask by {}", approval.rule()),
        Decision::Deny(denial) => format!("deny: {denial}"),
    }
}

fn check(mode: Mode, rules: &[&str], tool: &str, expected: &str) {
    assert_eq!(shown(&decide(policy(mode, rules), proposal(tool, "{}"))), expected, "{mode:?} {rules:?}");
}

#[test]
fn a_rule_that_denies_wins_then_the_most_specific_then_the_default() {
    let default = "ask by the default: every tool asks";
    check(Mode::Interactive, &[], "get", default);
    check(Mode::Interactive, &["allow other/*"], "get", default);
    check(Mode::Interactive, &["allow s"], "get", "allow by the rule `allow s/*`");
    check(Mode::Interactive, &["allow s/get", "ask s/*"], "get", "allow by the rule `allow s/get`");
    check(Mode::Interactive, &["ask s/*", "allow s/g*"], "get", "allow by the rule `allow s/g*`");
    check(Mode::Interactive, &["allow s/get", "ask s/get"], "get", "ask by the rule `ask s/get`");
    check(
        Mode::Interactive,
        &["allow s/get", "deny */*"],
        "get",
        "deny: s/get is forbidden by the rule `deny */*`",
    );
    check(Mode::Interactive, &["deny */del*"], "get", default);
}

#[test]
fn the_rule_that_wants_more_of_a_call_is_the_more_specific() {
    let rules = ["ask s/write", "allow s/write where path inside /docs", "ask s/write mode headless"];
    for (mode, arguments, expected) in [
        (
            Mode::Interactive,
            r#"{"path":"/docs/a"}"#,
            "allow by the rule `allow s/write where path inside /docs`",
        ),
        (Mode::Interactive, r#"{"path":"/etc/a"}"#, "ask by the rule `ask s/write`"),
        (Mode::Interactive, r#"{"path":"/docs/../etc/a"}"#, "ask by the rule `ask s/write`"),
        (Mode::Interactive, "{}", "ask by the rule `ask s/write`"),
        // Equally specific: the stricter.
        (
            Mode::Deny,
            r#"{"path":"/docs/a"}"#,
            "deny: s/write needs approval (the rule `ask s/write mode headless`) and nobody can be asked",
        ),
    ] {
        let mut orders = vec![rules.to_vec(), rules.to_vec()];
        orders[1].reverse();
        for order in orders {
            let decision = decide(policy(mode, &order), proposal("write", arguments));
            assert_eq!(shown(&decision), expected, "{mode:?} {arguments}");
        }
    }
    let deny = ["allow s/write", "deny s/write where path inside /etc"];
    for (arguments, denied) in [
        (r#"{"path":"/etc/passwd"}"#, true),
        (r#"{"path":"/docs/../etc/passwd"}"#, true),
        (r#"{"path":"/docs/a"}"#, false),
        // It cannot be said that it is not there.
        ("{}", true),
        (r#"{"path":"etc/passwd"}"#, true),
    ] {
        let decision = decide(policy(Mode::Interactive, &deny), proposal("write", arguments));
        assert_eq!(matches!(decision, Decision::Deny(_)), denied, "{arguments}: {}", shown(&decision));
    }
}

#[test]
fn without_a_person_nothing_is_allowed_that_would_ask() {
    let needs = "deny: s/get needs approval (the default: every tool asks) and nobody can be asked";
    check(Mode::Fail, &[], "get", needs);
    check(Mode::Deny, &[], "get", needs);
    check(Mode::Fail, &["allow s/get"], "get", "allow by the rule `allow s/get`");
    check(Mode::Yes, &[], "get", "allow by yes to everything");
    check(Mode::Yes, &["deny s/get"], "get", "deny: s/get is forbidden by the rule `deny s/get`");
}

#[test]
fn annotations_count_only_for_a_trusted_server() {
    let trusting = |mode| Policy::new(mode).trust(server("s"));
    let decide = |policy: &Policy, tool| shown(&decide(policy.clone(), proposal(tool, "{}")));
    assert!(decide(&trusting(Mode::Interactive), "get").starts_with("allow by trust"));
    assert!(decide(&trusting(Mode::Interactive), "delete").starts_with("ask"));
    assert!(decide(&Policy::new(Mode::Interactive).trust(server("t")), "get").starts_with("ask"));
    assert!(
        decide(&trusting(Mode::Interactive).rule("deny s/get".parse().unwrap()), "get").starts_with("deny")
    );
}

#[test]
fn presets_say_what_is_done_where_no_rule_is() {
    for (preset, trusted, rule, tool, expected) in [
        ("careful", false, None, "get", "ask"),
        ("careful", true, None, "get", "allow by trust"),
        ("careful", true, None, "delete", "ask"),
        ("read-only", true, None, "get", "allow by trust"),
        ("read-only", false, None, "get", "deny: s/get is forbidden by the preset read-only"),
        ("read-only", true, None, "delete", "deny: s/delete is forbidden by the preset read-only"),
        ("read-only", true, Some("allow s/delete"), "delete", "allow by the rule"),
        ("ci-strict", true, None, "get", "deny: s/get is allowed by no rule"),
        ("ci-strict", false, Some("allow s/get"), "get", "allow by the rule"),
        ("ci-strict", false, Some("ask s/get"), "get", "ask by the rule"),
        (
            "ci-strict",
            false,
            Some("allow s/get where x equals 1"),
            "get",
            "deny: s/get is allowed by no rule",
        ),
    ] {
        for mode in [Mode::Interactive, Mode::Yes] {
            let mut policy = Policy::new(mode).preset(preset.parse().unwrap());
            policy = if trusted { policy.trust(server("s")) } else { policy };
            policy = rule.map_or(policy.clone(), |rule| policy.rule(rule.parse().unwrap()));
            let decision = decide(policy, proposal(tool, "{}"));
            let expected = if mode == Mode::Yes {
                expected.replace("ask by the rule", "allow by yes")
            } else {
                expected.to_owned()
            };
            let expected =
                if mode == Mode::Yes && expected == "ask" { "allow by yes".to_owned() } else { expected };
            assert!(
                shown(&decision).starts_with(&expected),
                "{preset} {mode:?} {rule:?}: {}",
                shown(&decision)
            );
            if let Decision::Deny(denial) = decision {
                assert_eq!(denial.ends_run(), preset == "ci-strict", "{preset}");
            }
        }
    }
    assert!("strict".parse::<Preset>().is_err());
}

#[test]
fn a_rule_that_matches_no_tool_is_an_error() {
    let check = |rule: &str, absent: &[ServerName]| policy(Mode::Yes, &[rule]).check(&exposure(), absent);
    assert_eq!(check("deny s/delete", &[]), Ok(()));
    assert_eq!(check("deny t/*", &[server("t")]), Ok(()));
    assert_eq!(check("deny s/write where path inside /etc", &[]), Ok(()));
    assert_eq!(check("deny s/* where path inside /etc", &[]), Ok(()));
    assert_eq!(check("deny s/write where $ max_bytes 10", &[]), Ok(()));
    assert_eq!(
        check("deny s/remove", &[]).unwrap_err().to_string(),
        "the rule `deny s/remove` matches no tool: s has no such tool; correct or remove it. The tools are: \
         s/delete, s/get, s/write"
    );
    assert_eq!(
        check("deny s/delet", &[]).unwrap_err().to_string(),
        "the rule `deny s/delet` matches no tool: s has no such tool; correct or remove it. Did you mean s/delete? \
         The tools are: s/delete, s/get, s/write"
    );
    assert_eq!(
        check("deny files/*", &[server("file")]).unwrap_err().to_string(),
        "the rule `deny files/*` matches no tool: no server is called files; correct or remove it. Did you mean \
         file/*? The tools are: s/delete, s/get, s/write"
    );
    assert_eq!(
        check("deny s/write where pth inside /etc", &[]).unwrap_err().to_string(),
        "the rule `deny s/write where pth inside /etc` tests the argument \"pth\", which no tool has that it \
         matches; correct or remove it. The arguments are: path, text"
    );
}

#[test]
fn a_rule_is_held_against_what_is_known_before_it_is_kept() {
    let known = [(server("everything"), Some(vec!["echo".to_owned()])), (server("memory"), None)];
    for (rule, says) in [
        ("allow everything/echo", None),
        ("allow everything/ec*", None),
        ("allow memory/anything", None),
        ("deny */delete_*", None),
        (
            "allow everything/ecoo",
            Some("everything has no such tool; correct or remove it. Did you mean everything/echo?"),
        ),
        ("allow memry", Some("no server is called memry; correct or remove it. Did you mean memory/*?")),
        (
            "deny x",
            Some("no server is called x; correct or remove it. The tools are: everything/*, memory/*"),
        ),
    ] {
        let checked = rule.parse::<Rule>().unwrap().is_about(&known).map_err(|error| error.to_string());
        match says {
            None => assert_eq!(checked, Ok(()), "{rule}"),
            Some(says) => assert!(checked.as_ref().is_err_and(|error| error.contains(says)), "{checked:?}"),
        }
    }
}

#[test]
fn whoever_cannot_be_asked_is_told_the_rule_to_add() {
    let denial = |tool: &str, arguments: &str| {
        let policy = Policy::new(Mode::Fail).home("/home/me").folder(server("s"), "/work");
        match decide(policy, proposal(tool, arguments)) {
            Decision::Deny(denial) => denial,
            other => panic!("{}", shown(&other)),
        }
    };
    for (tool, arguments, allow) in [
        ("get", "{}", "s/get"),
        ("get", r#"{"n":1,"q":"a/b"}"#, "s/get"),
        ("write", r#"{"path":"/home/me/docs/a.txt","text":"/"}"#, "s/write where path inside ~/docs"),
        ("write", r#"{"path":"a.txt"}"#, "s/write where path inside /work"),
        ("write", r#"{"path":"/a.txt"}"#, "s/write"),
        ("write", r#"{"paths":["/srv/x/a","/srv/y/b"]}"#, "s/write where paths[*] inside /srv"),
        ("write", r#"{"path":"~/x/../y"}"#, "s/write"),
        ("get", r#"{"url":"https://a.example/x"}"#, "s/get where url host_in a.example"),
        ("get", r#"{"url":"https://a@b.example/x"}"#, "s/get"),
        ("get", r#"{"x.y":"https://a.example/x"}"#, "s/get where /x.y host_in a.example"),
    ] {
        let denial = denial(tool, arguments);
        let rule = denial.rule_to_add().unwrap();
        assert_eq!(rule.allow, allow, "{arguments}");
        // Both forms are the same rule, and it allows the call.
        let line = Rule::new(Action::Allow, &rule.allow).unwrap();
        let file: toml_edit::DocumentMut = rule.toml.parse().unwrap();
        assert!(file["policy"]["rules"].is_array_of_tables(), "{}", rule.toml);
        let policy = Policy::new(Mode::Fail).home("/home/me").folder(server("s"), "/work").rule(line);
        assert!(matches!(decide(policy, proposal(tool, arguments)), Decision::Allow(_)), "{allow}");
    }
    insta::assert_snapshot!(denial("write", r#"{"path":"/srv/a"}"#).rule_to_add().unwrap().toml, @r#"
    [[policy.rules]]
    action = "allow"
    server = "s"
    tool = "write"

    [[policy.rules.arguments]]
    path = "path"
    inside = "/srv"
    "#);
}

#[test]
fn a_hint_allows_one_tool_and_can_be_copied() {
    for (tool, rule) in [
        ("get_climate", Some("s/get_climate")),
        ("a; rm -rf b", Some("'s/a; rm -rf b'")),
        ("it's", Some(r"'s/it'\''s'")),
        ("a where b", Some(r#"'"s/a where b"'"#)),
        ("*", None),
        ("get_*", None),
        ("ge?", None),
        ("t ", None),
        ("t\u{200b}", None),
    ] {
        let tool: Tool =
            serde_json::from_value(serde_json::json!({ "name": tool, "inputSchema": { "type": "object" } }))
                .unwrap();
        let definition = definition_digest(&server("s"), &tool);
        let proposal = Proposal {
            call: CallId(1),
            server: server("s"),
            tool: Arc::new(tool),
            definition,
            arguments: raw("{}"),
        };
        let Decision::Deny(denial) = decide(Policy::new(Mode::Fail), proposal) else {
            panic!("nobody can be asked")
        };
        let error = crate::AgentError::from(denial);
        let hint = error.next_action().unwrap();
        assert_eq!(hint.contains("--allow"), rule.is_some(), "{hint}");
        assert!(rule.is_none_or(|rule| hint.contains(&format!("--allow {rule},"))), "{hint}");
    }
}

fn approval_of(tool: &str, arguments: &str) -> Approval {
    match decide(policy(Mode::Interactive, &[]).home("/home/me"), proposal(tool, arguments)) {
        Decision::Ask(approval) => *approval,
        other => panic!("{}", shown(&other)),
    }
}

fn approval(arguments: &str) -> Approval {
    approval_of("delete", arguments)
}

/// The text without its digest.
fn masked(rendered: &str) -> String {
    rendered.replace(&rendered[rendered.len() - 17..], "…")
}

#[test]
fn the_question_shows_everything_and_hides_nothing() {
    let rendered =
        approval("{\"path\":\"/tmp/\u{202e}gpj.exe\",\"deep\":{\"n\":[1,2]},\"text\":\"line\\nline\"}")
            .render();
    insta::assert_snapshot!(masked(&rendered), @r#"
    Allow this call?
      server     s
      tool       delete
      claims     may destroy, reaches the outside world (says the server, unverified)
      arguments  {
                   "path": "/tmp/\u202egpj.exe",
                   "deep": {
                     "n": [
                       1,
                       2
                     ]
                   },
                   "text": "line\nline"
                 }
      asked by   the default: every tool asks
      digest     …
    "#);
}

#[test]
fn a_long_text_is_shortened_at_first_and_says_how_long_it_is() {
    let long = "a".repeat(1000);
    let approval = approval(&format!(r#"{{"deep":[{{"te/xt":"{long}"}}],"n":1}}"#));
    let view = approval.view();
    let preview = view.preview.as_ref().unwrap();
    assert!(preview.contains("… (1000 bytes in all)") && !preview.contains(&long), "{preview}");
    assert!(view.shown.contains(&long));
    assert_eq!(view.shortened, [Shortened { path: "/deep/0/te~1xt".to_owned(), bytes: 1000 }]);
    assert!(!approval.render().contains(&long) && approval.render_whole().contains(&long));
    let read: ApprovalView = serde_json::from_str(&serde_json::to_string(&view).unwrap()).unwrap();
    assert_eq!(read, view);
}

#[test]
fn what_is_offered_follows_from_the_arguments_and_from_what_is_kept() {
    let labels = |authority: Authority, scope: Scope, (tool, arguments): (&str, &str)| -> String {
        let Decision::Ask(approval) = authority.decide(proposal(tool, arguments), &scope) else {
            panic!("it asks")
        };
        let labels: Vec<_> = approval.view().offers.into_iter().map(|offer| offer.label).collect();
        labels.join(" | ")
    };
    let policy = || Policy::new(Mode::Interactive).home("/home/me");
    let store: Arc<dyn crate::store::Store> = Arc::new(crate::store::MemoryStore::default());
    let lasting = || {
        let authority = Authority::new(policy(), &store);
        let facts = approval::ServerFacts { configuration: Some("h".to_owned()), ..Default::default() };
        let tools: Arc<[Tool]> = exposure().tools().iter().map(|tool| Tool::clone(tool.tool())).collect();
        authority.observe(&server("s"), facts, &tools);
        authority
    };
    let write = ("write", r#"{"path":"/home/me/docs/a","text":"x"}"#);
    for (authority, scope, call, expected) in [
        (
            lasting(),
            Scope::run().in_session("a"),
            write,
            "once | this run: this tool, any arguments | this session: this tool, any arguments \
             | always: this tool, only where path inside ~/docs | always: this tool, any arguments | no",
        ),
        (
            lasting(),
            Scope::run(),
            ("write", r#"{"path":"/home/me/a","text":"x"}"#),
            "once | this run: this tool, any arguments | always: this tool, only where path equals /home/me/a \
             | always: this tool, any arguments | no",
        ),
        (
            lasting(),
            Scope::run(),
            ("get", "{}"),
            "once | this run: this tool, any arguments | always: this tool, any arguments | no",
        ),
        (
            Authority::forgetful(policy()),
            Scope::run(),
            write,
            "once | this run: this tool, only where path inside ~/docs | this run: this tool, any arguments | no",
        ),
    ] {
        assert_eq!(labels(authority, scope, call), expected);
    }
}

#[test]
fn an_answer_about_something_else_permits_nothing() {
    let other = approval(r#"{"path":"/"}"#).reply(Choice::AllowOnce);
    let denial = approval(r#"{"path":"/tmp"}"#).decide(&other).unwrap_err();
    assert_eq!(denial.reason, DenialReason::OtherThanShown);
}

#[test]
fn answers_are_kept_apart() {
    let decide = |choice| {
        let approval = approval("{}");
        let reply = approval.reply_where(choice, ArgumentRule::any());
        approval.decide(&reply)
    };
    assert_eq!(decide(Choice::AllowOnce).unwrap().by(), "the person, once");
    assert_eq!(decide(Choice::AllowRun).unwrap().by(), "the person, for this run");
    assert_eq!(decide(Choice::AllowSession).unwrap().by(), "the person, for this session");
    assert_eq!(decide(Choice::AllowAlways).unwrap().by(), "the person, always");
    assert_eq!(decide(Choice::Deny).unwrap_err().reason, DenialReason::Person);
    assert!(decide(Choice::Unanswered).unwrap_err().ends_run());
}

proptest! {
    /// What is shown is JSON that says exactly what is sent, whatever is sent.
    #[test]
    fn shown_arguments_read_back_as_the_sent_ones(text in "\\PC*|[\\x00-\\u{ffff}]*", number in any::<f64>()) {
        let arguments = serde_json::json!({ text.clone(): [text, number, null, {"a": {}}] }).to_string();
        let shown = crate::visible::json(&raw(&arguments));
        prop_assert!(crate::visible::same_json(&arguments, &shown), "{arguments} shown as {shown}");
        prop_assert!(!shown.chars().any(|character| character != '\n' && crate::visible::is_invisible(character)));
    }

    /// Whatever a text is, a rule about it survives being written down.
    #[test]
    fn any_text_survives_a_rule(text in "\\PC*|[\\x00-\\u{ffff}]*") {
        let tests = [
            ArgumentTest::equals("a", Value::String(text.clone())).unwrap(),
            ArgumentTest::inside("a", vec![format!("/{text}").replace('\0', "")]).unwrap(),
        ];
        let rule = tests.into_iter().fold(Rule::new(Action::Allow, "s/t").unwrap(), Rule::and);
        prop_assert_eq!(rule.to_string().parse::<Rule>().unwrap(), rule);
    }

    /// A line is refused, or is a rule that survives being written down and judges any arguments.
    #[test]
    fn any_line_is_read_or_refused(line in "(allow|deny) s/t( (if|because|where path (inside|host_in|equals|matches)) \\PC{1,40})?", path in "\\PC{0,40}") {
        if let Ok(rule) = line.parse::<Rule>() {
            let arguments = serde_json::json!({ "path": path }).to_string();
            prop_assert_eq!(&rule.to_string().parse::<Rule>().unwrap(), &rule);
            let _ = decide(Policy::new(Mode::Deny).rule(rule), proposal("write", &arguments));
        }
    }
}
