//! Walls on small graphs given as data, and on the workspace itself.

use super::graph::{Dependency, Graph, Member};
use super::{WALLS, Wall, check};
use crate::workspace;

const ROWS: &[Wall] = &[
    Wall { package: "pure", may_use: &["base"], only: Some(&["serde"]), never: &["tokio"] },
    Wall { package: "base", may_use: &[], only: None, never: &[] },
];

/// A member whose normal dependencies are all reached directly.
fn member(name: &str, normal: &[&str], development: &[&str]) -> Member {
    let entry =
        |name: &&str, normal| Dependency { name: (*name).to_owned(), normal, requirement: "^1".to_owned() };
    let dependencies = normal.iter().map(|it| entry(it, true));
    Member {
        name: name.to_owned(),
        manifest: format!("crates/{name}/Cargo.toml"),
        manifest_text: normal.iter().map(|name| format!("{name}.workspace = true\n")).collect(),
        published: true,
        dependencies: dependencies.chain(development.iter().map(|it| entry(it, false))).collect(),
        reached_through: normal.iter().map(|it| ((*it).to_owned(), name.to_owned())).collect(),
    }
}

/// Checks that there is one finding for each text, containing it, in order.
fn check_members(members: Vec<Member>, expected: &[&str]) {
    let found: Vec<_> = check(ROWS, &Graph { members }).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (finding, expected) in found.iter().zip(expected) {
        assert!(finding.contains(expected), "{finding}\nlacks {expected}");
    }
}

#[test]
fn what_the_table_allows_passes() {
    check_members(
        vec![member("base", &["anything"], &[]), member("pure", &["base", "serde"], &["tokio"])],
        &[],
    );
}

#[test]
fn a_crate_outside_the_allow_list_is_found_at_its_line() {
    check_members(
        vec![member("pure", &["serde", "rand"], &[])],
        &["crates/pure/Cargo.toml:2: wall: `pure` may not"],
    );
}

#[test]
fn an_edge_inside_the_workspace_is_a_decision() {
    check_members(
        vec![member("base", &["pure"], &[]), member("pure", &[], &[])],
        &["`base` may not use `pure`"],
    );
}

#[test]
fn what_must_never_be_seen_is_found_however_far_down() {
    let mut far = member("pure", &["serde"], &[]);
    far.reached_through.insert("tokio".to_owned(), "serde".to_owned());
    check_members(vec![far], &["must never see `tokio`, and does: pure > serde > tokio"]);
    check_members(
        vec![member("pure", &["tokio"], &[])],
        &["Cargo.toml:1: wall: `pure` must never see `tokio`"],
    );
}

#[test]
fn a_member_without_a_row_is_found() {
    check_members(vec![member("stranger", &[], &[])], &["`stranger` has no row"]);
}

#[test]
fn the_testkit_is_no_normal_dependency_of_a_published_crate() {
    check_members(vec![member("base", &[super::TESTKIT], &[])], &["development dependency"]);
    check_members(vec![member("base", &[], &[super::TESTKIT])], &[]);
    let mut private = member("base", &[super::TESTKIT], &[]);
    private.published = false;
    check_members(vec![private], &[]);
}

#[test]
fn the_graph_of_the_workspace_reaches_through_crates_of_others() {
    let graph = Graph::read(&workspace::root()).unwrap();
    let ours = graph.members.iter().find(|member| member.name == "xtask").unwrap();
    assert!(!ours.published);
    assert!(ours.reached_through.contains_key("unicode-ident"));
    assert!(ours.line_of("clap") > 1);
    assert!(WALLS.iter().any(|wall| wall.package == ours.name));
}
