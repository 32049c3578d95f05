//! Servers of other products in our words, and ours in theirs.

use std::collections::BTreeMap;

use proptest::prelude::*;
use switchboard_config::{Edit, Format, NewServer, OriginKind, Target, export, imports};

use crate::place::Place;

/// Everything of a product as our file would have it.
fn imported(fixture: &str, kinds: &[OriginKind]) -> String {
    let place = Place::of(fixture);
    place.trust_all();
    let mut edit = Edit::open(&place.at("new.toml")).unwrap();
    let mut notes = String::new();
    for import in imports(&place.sources, kinds).servers {
        edit.set(&import.name, &import.server).unwrap();
        notes.extend(import.notes.iter().map(|note| format!("# {}: {note}\n", import.name)));
    }
    place.plain(&(edit.text() + &notes))
}

#[test]
fn what_is_imported_says_the_same_in_our_words() {
    insta::assert_snapshot!("import-vscode", imported("vscode", &[OriginKind::VsCode]));
    insta::assert_snapshot!("import-codex", imported("codex", &[OriginKind::Codex]));
    insta::assert_snapshot!(
        "import-claude-desktop",
        imported("claude-desktop", &[OriginKind::ClaudeDesktop])
    );
    assert_eq!(imported("codex", &[OriginKind::Cursor]), "");
}

#[test]
fn what_a_project_names_is_taken_over_once_it_is_trusted() {
    let mut place = Place::empty();
    place.write("project/.cursor/mcp.json", r#"{ "mcpServers": { "a": { "command": "theirs" } } }"#);
    place.write(
        "home/.cursor/mcp.json",
        r#"{ "mcpServers": { "a": { "command": "mine" }, "b": { "command": "b" } } }"#,
    );
    let shown = |place: &Place| {
        let found = imports(&place.sources, &[OriginKind::Cursor]);
        let shown: Vec<String> = found.servers.into_iter().map(|import| import.shown).collect();
        (shown, found.untrusted.len())
    };
    assert_eq!(shown(&place), (vec!["mine".to_owned(), "b".to_owned()], 1));
    // Whoever finds nothing is told where it was looked for.
    let looked_for = imports(&place.sources, &[OriginKind::Cursor]).looked_for;
    for file in ["project/.cursor/mcp.json", "home/.cursor/mcp.json"] {
        assert_eq!(looked_for.iter().filter(|looked| looked.ends_with(file)).count(), 1, "{looked_for:?}");
    }
    assert!(looked_for.iter().all(|file| file.to_string_lossy().contains(".cursor")), "{looked_for:?}");
    place.trust_all();
    assert_eq!(shown(&place), (vec!["theirs".to_owned(), "b".to_owned()], 0));
    place.write("project/.cursor/mcp.json", r#"{ "mcpServers": { "a": { "command": "changed" } } }"#);
    assert_eq!(shown(&place).0[0], "mine");
    // Whoever names the file means it.
    place.sources.explicit = Some(".cursor/mcp.json".into());
    place.sources.only_explicit = true;
    assert_eq!(shown(&place), (vec!["changed".to_owned()], 0));
}

#[test]
fn what_is_exported_says_the_same_in_their_words() {
    let place = Place::empty();
    place.write(
        "config/config.toml",
        "[servers.a]\ncommand = \"npx\"\nargs = [\"$${x} $$5\", \"${DIR:-/d}\"]\nenv = { TEAM = \"${TEAM}\", K = \"${secret:k}\" }\n[servers.b]\nurl = \"https://h/\"\nheaders = { Authorization = \"Bearer ${env:TRACKER_TOKEN}\", X = \"${TEAM}\" }\nenabled = false\n",
    );
    for (name, format) in [
        ("export-claude", Format::Claude),
        ("export-vscode", Format::VsCode),
        ("export-codex", Format::Codex),
        ("export-toml", Format::Toml),
    ] {
        let exported = export(&place.sources, format);
        insta::assert_snapshot!(name, format!("{}\n---\n{}", exported.text, exported.notes.join("\n")));
        assert!(!exported.text.contains("tok-123456"), "values stay references");
    }
}

/// A part of a text in our words, and whether it is said with a default.
fn part() -> impl Strategy<Value = (String, bool)> {
    let literal =
        prop::sample::select(vec!["$", "$$", "{", "}", "${", "a", ":-", "A}", "${A}", "é \"x\"", "="]);
    let literal = literal.prop_map(|text| (text.replace('$', "$$"), false));
    let plain = prop::sample::select(vec!["${A}", "${env:B}"]).prop_map(|text| (text.to_owned(), false));
    let default =
        prop::sample::select(vec!["${UNSET:-d}", "${A:-}", "${UNSET:-$$${A}$$$$}", "${UNSET:-$${A}}"]);
    prop_oneof![3 => literal, 2 => plain, 1 => default.prop_map(|text| (text.to_owned(), true))]
}

fn text() -> impl Strategy<Value = (String, bool)> {
    prop::collection::vec(part(), 0..5).prop_map(|parts| {
        let has_default = parts.iter().any(|(_, has_default)| *has_default);
        (parts.into_iter().map(|(text, _)| text).collect(), has_default)
    })
}

/// Where each product has its servers.
const FILES: [(Format, &str); 4] = [
    (Format::Claude, "out/.mcp.json"),
    (Format::VsCode, "out/.vscode/mcp.json"),
    (Format::Codex, "out/.codex/config.toml"),
    (Format::Toml, "out/config.toml"),
];

/// Exports these servers and reads them again.
fn check_round_trip(program: &NewServer, address: &NewServer, has_default: bool) {
    let place = Place::empty().env(&[("A", "a$b"), ("B", "${A}")]);
    let file = place.at("config/config.toml");
    let mut edit = Edit::open(&file).unwrap();
    edit.set("program", program).unwrap();
    edit.set("address", address).unwrap();
    edit.save().unwrap();
    let targets = |place: &Place| {
        let config = place.load();
        assert!(config.problems.is_empty(), "{:?}\n{}", config.problems, edit.text());
        config.servers.into_iter().map(|server| (server.name, server.target)).collect::<BTreeMap<_, _>>()
    };
    let before = targets(&place);
    for (format, file) in FILES {
        // It has none, and says so.
        if format == Format::VsCode && has_default {
            continue;
        }
        let exported = export(&place.sources, format);
        place.write(file, &exported.text);
        let mut place = place.clone();
        place.sources.explicit = Some(place.at(file));
        place.sources.only_explicit = true;
        let mut after = targets(&place);
        for target in after.values_mut() {
            // Other products say it where we leave it open.
            if let Target::Http { transport, .. } = target {
                *transport = None;
            }
        }
        assert_eq!(after, before, "{format:?}:\n{}\nfrom\n{}", exported.text, edit.text());
    }
}

proptest! {
    #[test]
    fn what_is_exported_is_read_as_it_was(
        texts in prop::collection::vec(text(), 4),
        named in any::<bool>(),
    ) {
        let has_default = texts.iter().any(|(_, has_default)| *has_default);
        let [one, two, three, four] = [0, 1, 2, 3].map(|index| texts[index].0.clone());
        let mut program = NewServer::default();
        program.command = Some(format!("c{one}"));
        program.args = vec![two.clone()];
        program.env = vec![("X".to_owned(), three.clone()), ("A".to_owned(), if named { "${A}".to_owned() } else { four.clone() })];
        let mut address = NewServer::default();
        address.url = Some(format!("http://h/?{one}"));
        address.headers = vec![("X".to_owned(), two), ("Authorization".to_owned(), format!("Bearer {four}"))];
        check_round_trip(&program, &address, has_default);
    }
}
