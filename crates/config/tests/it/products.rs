//! One fixture a product: everything that its files hold, once the project is trusted.

use crate::place::Place;
use crate::show;

fn check(fixture: &str) {
    let place = Place::of(fixture);
    place.trust_all();
    insta::assert_snapshot!(fixture, show::config(&place.load(), &place));
}

#[test]
fn a_project_with_mcp_json() {
    check("mcp-json");
}

#[test]
fn claude_desktop() {
    check("claude-desktop");
}

#[test]
fn claude_code() {
    check("claude-code");
}

#[test]
fn vs_code() {
    check("vscode");
}

#[test]
fn cursor() {
    check("cursor");
}

#[test]
fn codex() {
    check("codex");
}

#[test]
fn our_own_file() {
    check("native");
}

#[test]
fn files_with_mistakes() {
    check("broken");
}
