//! Rules, approvals and what they are bound to.

use futures_util::future::BoxFuture;
use proptest::prelude::*;

use super::*;
use crate::exposure::Declared;

fn exposure() -> Exposure {
    let tools = r#"[
        {"name": "get", "title": "Get it", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
        {"name": "delete", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true, "openWorldHint": true}}
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

fn shown(decision: &Decision) -> String {
    match decision {
        Decision::Allow(permit) => format!("allow by {}", permit.by()),
        Decision::Ask(approval) => format!("ask by {}", approval.rule()),
        Decision::Deny(denial) => format!("deny: {denial}"),
    }
}

fn check(mode: Mode, rules: &[&str], tool: &str, expected: &str) {
    assert_eq!(shown(&policy(mode, rules).decide(proposal(tool, "{}"))), expected, "{mode:?} {rules:?}");
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
    let decide = |policy: &Policy, tool| shown(&policy.decide(proposal(tool, "{}")));
    assert!(decide(&trusting(Mode::Interactive), "get").starts_with("allow by trust"));
    assert!(decide(&trusting(Mode::Interactive), "delete").starts_with("ask"));
    assert!(decide(&Policy::new(Mode::Interactive).trust(server("t")), "get").starts_with("ask"));
    assert!(
        decide(&trusting(Mode::Interactive).rule("deny s/get".parse().unwrap()), "get").starts_with("deny")
    );
}

#[test]
fn a_rule_that_matches_no_tool_is_an_error() {
    let check = |rule: &str, absent: &[ServerName]| policy(Mode::Yes, &[rule]).check(&exposure(), absent);
    assert_eq!(check("deny s/delete", &[]), Ok(()));
    assert_eq!(check("deny t/*", &[server("t")]), Ok(()));
    assert_eq!(
        check("deny s/remove", &[]).unwrap_err().to_string(),
        "the rule `deny s/remove` matches no tool; correct or remove it. The tools are: s/delete, s/get"
    );
    for text in ["", "allow", "permit s/*", "allow /x", "allow s/", "deny  /"] {
        assert!(text.parse::<Rule>().is_err(), "{text}");
    }
}

fn approval(arguments: &str) -> Approval {
    match policy(Mode::Interactive, &[]).decide(proposal("delete", arguments)) {
        Decision::Ask(approval) => approval,
        other => panic!("{}", shown(&other)),
    }
}

#[test]
fn the_question_shows_everything_and_hides_nothing() {
    let rendered =
        approval("{\"path\":\"/tmp/\u{202e}gpj.exe\",\"deep\":{\"n\":[1,2]},\"text\":\"line\\nline\"}")
            .render();
    insta::assert_snapshot!(rendered.replace(&rendered[rendered.len() - 17..], "…"), @r#"
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
fn an_answer_about_something_else_permits_nothing() {
    let other = approval(r#"{"path":"/"}"#).reply(Choice::AllowOnce);
    let denial = approval(r#"{"path":"/tmp"}"#).decide(other).unwrap_err();
    assert_eq!(denial.reason, DenialReason::OtherThanShown);
}

#[test]
fn answers_are_kept_apart() {
    let decide = |choice| {
        let approval = approval("{}");
        let reply = approval.reply(choice);
        approval.decide(reply)
    };
    assert_eq!(decide(Choice::AllowOnce).unwrap().by(), "the person, once");
    assert_eq!(decide(Choice::AllowRun).unwrap().by(), "the person, for this run");
    assert_eq!(decide(Choice::Deny).unwrap_err().reason, DenialReason::Person);
    assert!(decide(Choice::Unanswered).unwrap_err().ends_run());
}

/// Answers with the first choice once and then never again.
struct Once(std::sync::Mutex<Vec<Choice>>);

impl Consent for Once {
    fn ask<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, ConsentReply> {
        let choice = self.0.lock().unwrap().pop().expect("nobody is asked again");
        Box::pin(std::future::ready(approval.reply(choice)))
    }
}

#[tokio::test]
async fn yes_for_the_run_covers_the_tool_until_its_definition_changes() {
    let consent = Arc::new(Once(std::sync::Mutex::new(vec![Choice::AllowOnce, Choice::AllowRun])));
    let gate = Gate::new(Policy::new(Mode::Interactive), consent, crate::journal::Journal::new());
    let grants = RunGrants::default();
    assert!(gate.authorize(proposal("get", "{}"), &grants).await.is_ok());
    assert!(gate.authorize(proposal("get", r#"{"other":1}"#), &grants).await.is_ok());
    let mut changed = proposal("get", "{}");
    changed.definition = Digest::of(&[b"changed"]);
    assert!(gate.authorize(changed, &grants).await.is_ok(), "asked once more, and the last answer given");
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
}
