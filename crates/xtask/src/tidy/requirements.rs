//! One dependency has one version requirement in the whole workspace, so that an update is one line.

use std::collections::BTreeMap;

use super::walls::Graph;
use crate::finding::Finding;

pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let mut first: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut findings = Vec::new();
    for member in &graph.members {
        for dependency in &member.dependencies {
            let (requirement, package) = (dependency.requirement.as_str(), member.name.as_str());
            // A path alone is "any version": how unpublished members name each other.
            if requirement == "*" {
                continue;
            }
            let (known, by) = *first.entry(&dependency.name).or_insert((requirement, package));
            if known != requirement {
                let name = &dependency.name;
                let what = format!(
                    "`{package}` wants `{name}` {requirement} and `{by}` wants {known}; \
                     name it once in [workspace.dependencies]"
                );
                findings.push(Finding::new(&member.manifest, member.line_of(name), "one-requirement", what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::walls::{Dependency, Member};
    use super::*;

    fn member(name: &str, requirement: &str) -> Member {
        let dependency =
            Dependency { name: "rustls".to_owned(), normal: true, requirement: requirement.to_owned() };
        Member { name: name.to_owned(), dependencies: vec![dependency], ..Member::default() }
    }

    fn check_pair(a: &str, b: &str, expected: usize) {
        let found = check(&Graph { members: vec![member("a", a), member("b", b)] });
        assert_eq!(found.len(), expected, "{found:?}");
    }

    #[test]
    fn two_requirements_of_one_dependency_are_found() {
        check_pair("^0.23", "^0.23", 0);
        check_pair("^0.23", "^0.22", 1);
        check_pair("*", "^0.22", 0);
    }
}
