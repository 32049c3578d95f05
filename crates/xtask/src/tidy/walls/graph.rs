//! The dependency graph as the rules see it: what each member names, and everything that it reaches.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Node, PackageId};

/// The members of the workspace.
#[derive(Debug)]
pub(in crate::tidy) struct Graph {
    pub(in crate::tidy) members: Vec<Member>,
}

#[derive(Debug, Default)]
pub(in crate::tidy) struct Member {
    pub(in crate::tidy) name: String,
    /// Its `Cargo.toml`, relative to the workspace.
    pub(in crate::tidy) manifest: String,
    pub(in crate::tidy) manifest_text: String,
    pub(in crate::tidy) published: bool,
    pub(in crate::tidy) dependencies: Vec<Dependency>,
    /// Everything in its tree without development dependencies, each with the crate that leads to it.
    pub(in crate::tidy) reached_through: BTreeMap<String, String>,
}

/// One entry of a manifest.
#[derive(Debug)]
pub(in crate::tidy) struct Dependency {
    pub(in crate::tidy) name: String,
    /// `false` for a development dependency.
    pub(in crate::tidy) normal: bool,
    /// The version requirement as cargo reads it.
    pub(in crate::tidy) requirement: String,
}

impl Graph {
    /// Asks cargo.
    ///
    /// # Errors
    /// If cargo cannot resolve the workspace, or a manifest cannot be read.
    pub(in crate::tidy) fn read(root: &Path) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .current_dir(root)
            .exec()
            .context("cargo cannot describe the workspace; does `cargo metadata` run?")?;
        let tree = Tree::new(&metadata)?;
        let packages = metadata.workspace_packages();
        let members = packages.into_iter().map(|package| read_member(root, package, &tree));
        Ok(Self { members: members.collect::<Result<_>>()? })
    }
}

impl Member {
    /// The line of the manifest that names the dependency, else the first.
    pub(in crate::tidy) fn line_of(&self, dependency: &str) -> usize {
        let names =
            |line: &str| line.strip_prefix(dependency).is_some_and(|rest| rest.starts_with(['.', ' ', '=']));
        self.manifest_text.lines().position(names).map_or(1, |at| at + 1)
    }

    /// How the dependency gets into the tree: `a > b > it`.
    pub(in crate::tidy) fn path_to(&self, dependency: &str) -> Option<String> {
        self.reached_through.get(dependency)?;
        let mut path = vec![dependency];
        while let Some(through) = self.reached_through.get(path[path.len() - 1]) {
            path.push(through);
        }
        path.reverse();
        Some(path.join(" > "))
    }
}

fn read_member(root: &Path, package: &cargo_metadata::Package, tree: &Tree<'_>) -> Result<Member> {
    let manifest = package.manifest_path.as_std_path();
    let dependencies = package.dependencies.iter().map(|dependency| Dependency {
        name: dependency.name.clone(),
        normal: dependency.kind != DependencyKind::Development,
        requirement: dependency.req.to_string(),
    });
    Ok(Member {
        name: package.name.to_string(),
        manifest: manifest.strip_prefix(root).unwrap_or(manifest).to_string_lossy().replace('\\', "/"),
        manifest_text: std::fs::read_to_string(manifest)
            .with_context(|| format!("cannot read {}", manifest.display()))?,
        published: package.publish.as_ref().is_none_or(|registries| !registries.is_empty()),
        dependencies: dependencies.collect(),
        reached_through: tree.reach(&package.id),
    })
}

/// Cargo's resolved graph, by package id.
struct Tree<'a> {
    names: HashMap<&'a PackageId, &'a str>,
    nodes: HashMap<&'a PackageId, &'a Node>,
}

impl<'a> Tree<'a> {
    fn new(metadata: &'a Metadata) -> Result<Self> {
        let resolve = metadata.resolve.as_ref().context("cargo metadata came without a resolved graph")?;
        Ok(Self {
            names: metadata.packages.iter().map(|package| (&package.id, package.name.as_str())).collect(),
            nodes: resolve.nodes.iter().map(|node| (&node.id, node)).collect(),
        })
    }

    /// Breadth first, so that the way shown is a shortest one. The start itself is not reached.
    fn reach(&self, start: &'a PackageId) -> BTreeMap<String, String> {
        let name = |id: &PackageId| self.names.get(id).copied().unwrap_or("?").to_owned();
        let mut reached = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(id) = queue.pop_front() {
            for dependency in self.nodes.get(id).into_iter().flat_map(|node| &node.deps) {
                let normal = dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
                if normal && dependency.pkg != *start && !reached.contains_key(&name(&dependency.pkg)) {
                    reached.insert(name(&dependency.pkg), name(id));
                    queue.push_back(&dependency.pkg);
                }
            }
        }
        reached
    }
}
