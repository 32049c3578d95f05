//! Which file wins, and what is said about the others.

use switchboard_config::Config;

use crate::place::Place;
use crate::show;

fn command(config: &Config, name: &str) -> String {
    let server = config.servers.iter().find(|server| server.name == name);
    server.unwrap_or_else(|| panic!("no {name} in {config:?}")).shown.clone()
}

#[test]
fn a_higher_layer_wins_and_the_lower_one_is_reported() {
    let mut place = Place::of("layers");
    place.write(
        "system.toml",
        "[servers.same-name]\ncommand = \"from-system\"\n[servers.of-system]\ncommand = \"x\"\n",
    );
    assert_eq!(command(&place.load(), "same-name"), "from-user-native", "what is not trusted hides nothing");
    place.trust_all();
    let config = place.load();
    assert_eq!(command(&config, "same-name"), "from-project");
    assert_eq!(command(&config, "of-system"), "x");
    insta::assert_snapshot!("layers", show::config(&config, &place));
    let environment = place.at("environment.toml").display().to_string();
    place = place.env(&[("SWITCHBOARD_CONFIG", &environment)]);
    assert_eq!(command(&place.load(), "same-name"), "from-environment");
    place.sources.explicit = Some(place.at("flags.toml"));
    let config = place.load();
    assert_eq!(command(&config, "same-name"), "from-flags");
    assert_eq!(command(&config, "of-environment"), "x");
    let shadowed = config.shadowed.iter().filter(|shadowed| shadowed.name == "same-name").count();
    assert_eq!(shadowed, 5, "{:?}", config.shadowed);
    place.sources.only_explicit = true;
    let config = place.load();
    assert_eq!(config.servers.len(), 1, "nothing but the file that was named");
    assert!(
        config.warnings.is_empty() && config.problems.is_empty() && config.untrusted.is_empty(),
        "{config:?}"
    );
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let mut place = Place::empty();
    place.sources.explicit = Some(place.at("none.toml"));
    let problem = &place.load().problems[0];
    assert!(problem.message.contains("no such file"), "{problem}");
}

#[test]
fn the_project_reaches_up_to_the_repository() {
    let mut place = Place::empty();
    let server = |name: &str| format!(r#"{{ "mcpServers": {{ "{name}": {{ "command": "x" }} }} }}"#);
    place.write(".mcp.json", &server("outside"));
    place.write("project/.mcp.json", &server("root")).write("project/.git/HEAD", "");
    place.write("project/a/b/.mcp.json", &server("inner"));
    place.sources.directory = place.at("project/a/b");
    let names =
        |place: &Place| place.load().untrusted.into_iter().filter_map(|one| one.server).collect::<Vec<_>>();
    assert_eq!(names(&place), ["inner", "root"]);
    std::fs::remove_dir_all(place.at("project/.git")).unwrap();
    assert_eq!(names(&place), ["inner"], "without a repository it is this folder alone");
}

/// The project of a server called `s` in this file, seen from this folder.
fn project_of((file, text): (&str, &str), folder: &str) -> Option<std::path::PathBuf> {
    let mut place = Place::empty().env(&[("SWITCHBOARD_CONFIG", "")]);
    place.write(file, text).write(&format!("{folder}/x"), "");
    place.sources.directory = place.at(folder);
    let config = place.trust_all().load();
    let project = config.servers.iter().find(|server| server.name == "s").unwrap().project.clone();
    project.map(|project| project.strip_prefix(place.at("")).unwrap().to_owned())
}

#[test]
fn only_a_server_of_a_projects_file_is_told_of_a_folder_and_never_of_the_home() {
    let json = r#"{ "mcpServers": { "s": { "command": "x", "args": ["/notes"] } } }"#;
    let vscode = r#"{ "servers": { "s": { "command": "x", "args": ["/notes"] } } }"#;
    let toml = "[servers.s]\ncommand = \"x\"\n";
    for (file, folder, project) in [
        (("project/.mcp.json", json), "project", Some("project")),
        (("project/.vscode/mcp.json", vscode), "project", Some("project")),
        (("project/.cursor/mcp.json", json), "project", Some("project")),
        (("project/.switchboard.toml", toml), "project", Some("project")),
        (("home/a/.mcp.json", json), "home/a", Some("home/a")),
        (("home/.mcp.json", json), "home", None),
        (("home/.cursor/mcp.json", json), "project", None),
        (("config/config.toml", toml), "project", None),
        (("system.toml", toml), "project", None),
        (("home/.claude.json", json), "project", None),
    ] {
        assert_eq!(project_of(file, folder), project.map(Into::into), "{} from {folder}", file.0);
    }
    for desktop in ["home/.config/Claude", "home/Library/Application Support/Claude"] {
        let (file, mut place) = (format!("{desktop}/claude_desktop_config.json"), Place::empty());
        place.write(&file, json);
        place.sources.directory = place.at("home");
        assert!(place.load().servers.iter().all(|server| server.project.is_none()), "{file}");
    }
}

#[test]
fn the_order_is_the_same_every_time() {
    let place = Place::of("layers");
    let first = show::config(&place.load(), &place);
    for _ in 0..5 {
        assert_eq!(show::config(&place.load(), &place), first);
    }
}
