//! Files that nobody wrote in good faith, or that are half written: one problem each, and the rest goes on.

use crate::place::Place;

/// Checks that the file is one problem with its place, and that another file still counts.
fn check(file: &str, text: &[u8], line: usize, part: &str) {
    let place = Place::empty();
    place.write("config/config.toml", "[servers.other]\ncommand = \"x\"\n");
    place.write(file, "");
    std::fs::write(place.at(file), text).unwrap();
    let config = place.load();
    assert!(
        config.servers.iter().any(|server| server.name == "other") || file.ends_with("config.toml"),
        "{config:?}"
    );
    let problems: Vec<_> =
        config.problems.iter().map(|problem| (problem.origin.line, problem.to_string())).collect();
    let [(found, text)] = problems.as_slice() else { panic!("{file}: {problems:?}") };
    assert_eq!(*found, line, "{text}");
    assert!(text.contains(part), "{part:?} is not in {text}");
}

#[test]
fn what_is_no_table_is_said_in_words_of_the_file() {
    check("config/config.toml", b"policy = 3\n", 1, "[policy] invalid type: integer `3`, expected a table");
    check("config/config.toml", b"limits = \"x\"\n", 1, "expected a table");
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let cursor = "home/.cursor/mcp.json";
    check(cursor, b"{\n  \"mcpServers\": {", 2, "Cursor");
    check(cursor, b"{\n\n  mcpServers: {} }", 3, "mcp.json:3:3");
    check(cursor, b"[]", 1, "a list");
    check(cursor, b"{\"a\": \"\xff\"}", 1, "UTF-8");
    check(cursor, "[".repeat(100_000).as_bytes(), 1, "depth");
    check(cursor, format!("{{\"a\":{}", "{\"a\":".repeat(100_000)).as_bytes(), 1, "depth");
    check("config/config.toml", b"[servers.x]\ncommand = \"a\n", 2, "config.toml:2:");
    check("config/config.toml", b"a = 1\na = 2\n", 2, "duplicate");
    check("config/config.toml", format!("a = {}", "[".repeat(100_000)).as_bytes(), 1, "recursion");
    check("config/config.toml", b"servers = 3\n", 1, "must be a table");
}

#[test]
fn a_mark_at_the_beginning_and_an_empty_file_are_nothing_wrong() {
    let place = Place::empty();
    place.write("home/.cursor/mcp.json", "\u{feff}{ \"mcpServers\": { \"a\": { \"command\": \"x\" } } }");
    place.write("home/.claude.json", "").write("config/config.toml", "");
    let config = place.load();
    assert!(config.problems.is_empty() && config.warnings.is_empty(), "{config:?}");
    assert_eq!(config.servers.len(), 1);
}

#[test]
fn files_that_include_each_other_end() {
    let place = Place::empty();
    place.write(
        "config/config.toml",
        "include = [\"b.toml\", \"config.toml\"]\n[servers.a]\ncommand = \"a\"\n",
    );
    place.write("config/b.toml", "include = [\"config.toml\"]\n[servers.b]\ncommand = \"b\"\n");
    let config = place.load();
    assert!(config.problems.is_empty(), "{config:?}");
    assert_eq!(config.servers.len(), 2);
    for depth in 0..9 {
        place.write(&format!("config/d{depth}.toml"), &format!("include = [\"d{}.toml\"]", depth + 1));
    }
    place.write("config/config.toml", "include = [\"d0.toml\"]");
    assert!(place.load().problems[0].message.contains("deep"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_does_not_hang() {
    let place = Place::empty();
    place.write("config/config.toml", "[servers.a]\ncommand = \"a\"\nargs = [\"${file:pipe}\"]\n");
    for path in ["config/pipe", "project/.mcp.json"] {
        let made = std::process::Command::new("mkfifo").arg(place.at(path)).status().unwrap();
        assert!(made.success());
    }
    let problems: Vec<_> = place.load().problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.contains("no file")), "{problems:?}");
}

#[test]
fn a_name_holds_nothing_that_has_a_meaning_elsewhere() {
    let place = Place::empty();
    let long = "n".repeat(200);
    let names = ["a/b", "a=b*", " x ", "", "\u{202e}evil", "switchboard", &long];
    let servers: Vec<String> =
        names.iter().map(|name| format!("{}: {{ \"command\": \"x\" }}", serde_json::json!(name))).collect();
    place.write("home/.cursor/mcp.json", &format!("{{ \"mcpServers\": {{ {} }} }}", servers.join(",")));
    let config = place.load();
    let found: Vec<&str> = config.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(found, ["a-b", "a-b-", "x", "server", "-evil", "switchboard-server", &long[..64]]);
    assert_eq!(config.warnings.len(), names.len());
}
