//! Tests of arguments, as tables.

use serde_json::json;

use super::*;

/// The test that stands behind `where`.
fn test(text: &str) -> ArgumentTest {
    let rule: super::super::Rule = format!("allow s/t where {text}").parse().unwrap();
    rule.arguments()[0].clone()
}

/// How a test stands to arguments: surely, maybe, or surely not.
fn fit(text: &str, arguments: &Value, place: Place<'_>) -> Fit {
    let test = test(text);
    match (test.surely(arguments, place), test.maybe(arguments, place)) {
        (true, _) => Fit::Holds,
        (false, true) => Fit::Unknown,
        (false, false) => Fit::Fails,
    }
}

fn check(text: &str, arguments: &Value, expected: Fit) {
    assert_eq!(fit(text, arguments, Place::default()), expected, "{text} of {arguments}");
}

#[test]
fn an_argument_is_found_by_its_path() {
    let arguments = json!({
        "a": { "b": "x", "list": ["x", "x"], "mixed": ["x", "y"], "none": [] },
        "a.b": "y",
        "m/n": { "~": "x" },
    });
    for (path, expected) in [
        ("a.b", Fit::Holds),
        ("$.a.b", Fit::Holds),
        ("/a/b", Fit::Holds),
        ("/a.b", Fit::Fails),
        ("/m~1n/~0", Fit::Holds),
        ("a.list[0]", Fit::Holds),
        ("/a/list/1", Fit::Holds),
        ("a.list[*]", Fit::Holds),
        ("a.mixed[1]", Fit::Fails),
        // One of them is like that, and not all of them are.
        ("a.mixed[*]", Fit::Unknown),
        // What is not there is anybody's guess.
        ("a.none[*]", Fit::Unknown),
        ("a.list[2]", Fit::Unknown),
        ("a.c", Fit::Unknown),
        ("a.b.c", Fit::Unknown),
    ] {
        check(&format!("{path} equals x"), &arguments, expected);
    }
    for path in ["", "a..b", "a[", "a[x]", "a[*", "[0]", &"a".repeat(2000)] {
        assert!(ArgumentTest::max_bytes(path, 1).is_err(), "{path:?}");
    }
}

#[test]
fn values_texts_and_sizes() {
    let arguments = json!({ "n": 1, "f": 1.0, "t": "git status", "o": { "k": [1] }, "z": null, "u": "é" });
    for (text, expected) in [
        ("n equals 1", Fit::Holds),
        ("f equals 1", Fit::Holds),
        (r#"n equals "1""#, Fit::Fails),
        ("t equals 'git status'", Fit::Holds),
        (r#"o equals {"k": [1.0]}"#, Fit::Holds),
        ("z equals null", Fit::Holds),
        ("missing equals null", Fit::Unknown),
        // A rule that allows wants all of a text, one that denies some of it.
        ("t matches git", Fit::Unknown),
        ("t matches 'git (status|log)'", Fit::Holds),
        ("t matches 'a|git status'", Fit::Holds),
        ("t matches ^rm", Fit::Fails),
        ("n matches [0-9]", Fit::Holds),
        ("o matches .", Fit::Unknown),
        ("u max_bytes 2", Fit::Holds),
        ("u max_bytes 1", Fit::Fails),
        ("o max_bytes 9", Fit::Holds),
        ("o max_bytes 8", Fit::Fails),
        ("$ max_bytes 10", Fit::Fails),
        ("missing max_bytes 10", Fit::Unknown),
    ] {
        check(text, &arguments, expected);
    }
    let numbers = json!({
        "odd": 9_007_199_254_740_993_u64, "even": 9_007_199_254_740_992_u64, "most": u64::MAX, "least": i64::MIN,
        "great": 9_007_199_254_740_992.0, "half": 0.5, "nothing": -0.0,
    });
    for (text, expected) in [
        ("odd equals 9007199254740993", Fit::Holds),
        ("even equals 9007199254740993", Fit::Fails),
        ("great equals 9007199254740993", Fit::Fails),
        ("great equals 9007199254740992.0", Fit::Holds),
        ("most equals 18446744073709551615", Fit::Holds),
        ("most equals 18446744073709551614", Fit::Fails),
        ("most equals 18446744073709551616", Fit::Fails),
        ("least equals -9223372036854775808", Fit::Holds),
        ("least equals -9223372036854775807", Fit::Fails),
        ("least equals 9223372036854775808", Fit::Fails),
        ("half equals 0.5", Fit::Holds),
        ("half equals 0", Fit::Fails),
        ("nothing equals 0", Fit::Holds),
    ] {
        check(text, &numbers, expected);
    }
    let long = json!({ "t": "a".repeat(2_000_000) });
    check("t matches a*", &long, Fit::Unknown);
    for pattern in ["(", "a{1000000}", "(a{1000}){1000}", &"a".repeat(3000), "a)|(b"] {
        assert!(ArgumentTest::matches("t", pattern).is_err(), "{pattern:?}");
    }
}

#[test]
fn addresses_are_at_hosts() {
    let allowed = "url host_in example.com,*.example.org,127.0.0.1:8080,bücher.example";
    for (url, expected) in [
        ("https://example.com/a?b#c", Fit::Holds),
        ("HTTPS://EXAMPLE.COM./", Fit::Holds),
        ("https://example.com:8443/", Fit::Holds),
        ("example.com", Fit::Holds),
        ("example.com:80", Fit::Holds),
        ("WSS://example.com/", Fit::Holds),
        ("https://xn--bcher-kva.example/", Fit::Holds),
        ("https://www.example.com/", Fit::Fails),
        ("https://a.b.example.org/", Fit::Holds),
        ("https://example.org/", Fit::Fails),
        ("https://evilexample.org/", Fit::Fails),
        ("https://example.com.evil.net/", Fit::Fails),
        ("http://127.0.0.1:8080/", Fit::Holds),
        ("http://2130706433:8080/", Fit::Holds),
        ("http://127.0.0.1/", Fit::Fails),
        // Two programs may read these in two ways.
        ("https://example.com@evil.net/", Fit::Unknown),
        ("https://evil.net\\@example.com/", Fit::Unknown),
        ("https://example.com /", Fit::Unknown),
        ("//example.com/", Fit::Unknown),
        ("https:example.com", Fit::Unknown),
        ("https://", Fit::Unknown),
        ("", Fit::Unknown),
        ("file:///etc/passwd", Fit::Unknown),
        ("https:///example.com/", Fit::Unknown),
        ("https://example.com%2eevil.net/", Fit::Unknown),
        // Of another scheme.
        ("ftp://example.com/", Fit::Unknown),
        ("file://example.com/etc/passwd", Fit::Unknown),
        ("gopher://example.com/_x", Fit::Unknown),
        ("javascript://example.com/%0aalert(1)", Fit::Unknown),
        ("jar:https://example.com/", Fit::Unknown),
        ("ftp://evil.net/", Fit::Unknown),
    ] {
        check(allowed, &json!({ "url": url }), expected);
    }
    check(allowed, &json!({ "url": 1 }), Fit::Unknown);
    check(
        "urls[*] host_in example.com",
        &json!({ "urls": ["https://example.com", "https://a"] }),
        Fit::Unknown,
    );
    for host in ["", "a b", "*", "*.", "a*.example", "http://a", "a@b", "a/b"] {
        assert!(ArgumentTest::host_in("url", vec![host.to_owned()]).is_err(), "{host:?}");
    }
}

/// A home with `docs`, a folder beside it, and links.
#[cfg(unix)]
struct Folders(tempfile::TempDir);

#[cfg(unix)]
impl Folders {
    fn new() -> Self {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        std::fs::create_dir_all(home.join("docs/deep")).unwrap();
        std::fs::create_dir_all(home.join("secret")).unwrap();
        std::fs::write(home.join("docs/note"), "").unwrap();
        for (target, link) in [
            ("../secret", "docs/out"),
            ("../secret/not-there-yet", "docs/dangling"),
            ("deep", "docs/in"),
            ("loop", "docs/loop"),
            ("/proc/self", "docs/self"),
            ("/dev/fd", "docs/fd"),
            ("docs", "also-docs"),
        ] {
            symlink(target, home.join(link)).unwrap();
        }
        symlink(home.join("docs"), folder.path().join("absolute")).unwrap();
        Self(folder)
    }

    fn check(&self, rule: &str, text: &str, expected: Fit) {
        // The folder of a test may itself be behind a link.
        let root = self.0.path().canonicalize().unwrap();
        let home = root.join("home");
        let place = Place { home: Some(&home), folder: Some(&home) };
        let root = root.to_str().unwrap();
        let (rule, text) = (rule.replace("ROOT", root), text.replace("ROOT", root));
        let found = fit(&format!("path inside '{rule}'"), &json!({ "path": text }), place);
        assert_eq!(found, expected, "{text} inside {rule}");
    }
}

#[cfg(unix)]
#[test]
fn a_path_is_inside_as_the_file_system_sees_it() {
    let folders = Folders::new();
    for (text, expected) in [
        ("ROOT/home/docs", Fit::Holds),
        ("ROOT/home/docs/", Fit::Holds),
        ("ROOT/home/docs/note", Fit::Holds),
        ("ROOT/home/docs/new/newer", Fit::Holds),
        ("ROOT/home/./docs//note", Fit::Holds),
        ("~/docs/note", Fit::Holds),
        ("~", Fit::Fails),
        ("~/secret/x", Fit::Fails),
        ("~/docs/../docs/note", Fit::Unknown),
        ("~other/docs", Fit::Unknown),
        ("docs/note", Fit::Holds),
        ("./docs/../docs/note", Fit::Holds),
        ("docs/../secret/x", Fit::Fails),
        ("ROOT/home/docs/../secret/x", Fit::Fails),
        ("ROOT/home/docsier/x", Fit::Fails),
        ("ROOT/home/docs/in/x", Fit::Holds),
        ("ROOT/home/docs/out", Fit::Fails),
        ("ROOT/home/docs/out/x", Fit::Fails),
        ("ROOT/home/docs/dangling", Fit::Fails),
        ("ROOT/home/also-docs/note", Fit::Holds),
        ("ROOT/absolute/note", Fit::Holds),
        // The link leads out; where `..` leads from there depends on who reads it.
        ("ROOT/home/docs/out/../note", Fit::Unknown),
        ("ROOT/home/docs/out/../docs/note", Fit::Holds),
        ("ROOT/home/docs/in/../../secret", Fit::Fails),
        ("ROOT/home/docs/loop", Fit::Unknown),
        ("ROOT/home/DOCS/note", Fit::Unknown),
        ("file://ROOT/home/docs/note", Fit::Holds),
        ("file://localhostROOT/home/docs/note", Fit::Holds),
        ("FILE://ROOT/home/secret/x", Fit::Fails),
        ("file://ROOT/home/docs/%2e%2e/secret/x", Fit::Unknown),
        ("file://ROOT/home/docs/a%20b", Fit::Holds),
        ("file://elsewhereROOT/home/docs/note", Fit::Unknown),
        ("file:ROOT/home/docs/note", Fit::Unknown),
        ("file://ROOT/home/docs/a?b", Fit::Unknown),
        ("https://example.com/ROOT/home/docs", Fit::Unknown),
        ("//ROOT/home/docs/note", Fit::Unknown),
        ("ROOT/home/docs/a\\b", Fit::Unknown),
        ("ROOT/home/docs/a\0b", Fit::Unknown),
        ("", Fit::Unknown),
    ] {
        folders.check("~/docs", text, expected);
        folders.check("ROOT/home/docs", text, expected);
        folders.check("ROOT/home/also-docs/", text, expected);
    }
    folders.check("~", "~", Fit::Holds);
    folders.check("~/secret", "~/docs/out/x", Fit::Holds);
    folders.check("/", "ROOT/anything", Fit::Holds);
    folders.check("ROOT/home/docs", &"a/".repeat(20_000), Fit::Unknown);
}

/// The process that runs this test works in a folder of its own, and the server that reads the path in another.
#[cfg(unix)]
#[test]
fn what_is_of_a_process_is_nowhere_for_sure() {
    let folders = Folders::new();
    let here = std::env::current_dir().unwrap().canonicalize().unwrap();
    let here = here.to_str().unwrap();
    let process = std::process::id();
    for text in [
        "/proc/self/cwd/x",
        "/proc/thread-self/cwd/x",
        &format!("/proc/{process}/cwd/x"),
        &format!("/proc/self/root{here}/x"),
        &format!("/proc/self/cwd/../..{here}/x"),
        "/proc/self/fd/0",
        "/proc",
        "/./proc//self/cwd/x",
        "/usr/../proc/self/cwd",
        "file:///proc/self/cwd/x",
        "/dev/fd/0",
        "/dev/fd",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/./stderr",
        "ROOT/home/docs/self/cwd/x",
        "~/docs/self",
        "docs/fd/3",
        &format!("/proc/..{here}/x"),
    ] {
        for rule in [here, "/", "ROOT/home", "/proc", "/dev"] {
            folders.check(rule, text, Fit::Unknown);
        }
    }
    // A rule can be about them all the same.
    folders.check("/proc", "ROOT/home/docs/note", Fit::Fails);
    folders.check("/proc/self/cwd", &format!("{here}/x"), Fit::Fails);
    folders.check("/proc/self/cwd", "/proc/self/cwd/x", Fit::Unknown);
    folders.check("/dev", "/dev/null", Fit::Holds);
    folders.check("/", "/process", Fit::Holds);
}

#[cfg(unix)]
#[test]
fn a_text_that_may_be_read_in_another_way_is_nowhere_for_sure() {
    let folders = Folders::new();
    let docs = folders.0.path().join("home/docs");
    let odd = [
        "a%20b",
        "a\nb",
        "a*",
        "a?",
        "$HOME",
        "`id`",
        "a;b",
        "a\\b",
        "\u{2026}",
        "\u{ff0e}\u{ff0e}",
        "{a,b}",
        "...",
    ];
    // That such a file exists does not help.
    odd.iter().for_each(|name| std::fs::write(docs.join(name), "").unwrap());
    for name in odd.into_iter().chain([
        "%2e%2e/secret",
        "%2E%2E%2Fsecret",
        "a%5cb",
        "%252e",
        "%u002e",
        "%APPDATA%",
        "a\tb",
        "a\u{7f}b",
        "a\u{85}b",
        "a\u{202e}b",
        "a\u{200b}b",
        "**/x",
        "$(id)",
        "${HOME}",
        "{a,../../etc}",
        "{a..z}",
        "[ab]",
        "a|b",
        "a>b",
        "\u{2025}/secret",
        "\u{2024}\u{2024}/secret",
        "..\u{ff0f}secret",
        "..\u{2215}secret",
        "..\u{2044}secret",
        "..\u{ff3c}secret",
        "..\u{ff05}2fsecret",
        ".. /secret",
        " ../secret",
        "a ",
    ]) {
        for start in ["ROOT/home/docs/", "~/docs/", "docs/"] {
            folders.check("~/docs", &format!("{start}{name}"), Fit::Unknown);
            folders.check("/elsewhere", &format!("{start}{name}"), Fit::Unknown);
        }
    }
    for text in
        [" ROOT/home/docs/note", "~root/x", "file://ROOT/home/docs/a%2fb", "file://ROOT/home/docs/a%0ab"]
    {
        folders.check("~/docs", text, Fit::Unknown);
    }
}

#[cfg(unix)]
#[test]
fn an_ordinary_name_is_a_name() {
    let folders = Folders::new();
    let docs = folders.0.path().join("home/docs");
    let bracketed = ["[id].tsx", "[[...all]]", "{x}", "a (1) [2]"];
    for name in bracketed {
        folders.check("~/docs", &format!("~/docs/{name}"), Fit::Unknown);
        std::fs::write(docs.join(name), "").unwrap();
    }
    for name in bracketed.into_iter().chain([
        "my notes",
        "Übersicht für März",
        "日本語（改）",
        "a (1)",
        "R&D",
        "it's",
        "a,b",
        "a:b",
        "#1",
        "100%",
        "100 % sure",
        ".hidden",
        "a..b",
        "a~",
    ]) {
        for start in ["ROOT/home/docs/", "~/docs/", "docs/"] {
            folders.check("~/docs", &format!("{start}{name}"), Fit::Holds);
            folders.check("~/secret", &format!("{start}{name}"), Fit::Fails);
        }
    }
    // A name in brackets that exists, and a climb.
    folders.check("~/docs", "docs/deep/../[id].tsx", Fit::Unknown);
}

#[test]
fn where_paths_begin_must_be_known() {
    check("path inside /docs", &json!({ "path": "note" }), Fit::Unknown);
    check("path inside /docs", &json!({ "path": "~/note" }), Fit::Unknown);
    let two = r#"path inside ["/docs","/notes"]"#;
    check(two, &json!({ "path": "/notes/a" }), Fit::Holds);
    check(two, &json!({ "path": "/etc/a" }), Fit::Fails);
    check(two, &json!({ "path": "/NOTES/a" }), Fit::Unknown);
    check("path inside ~/docs", &json!({ "path": "/docs/note" }), Fit::Unknown);
    check("path inside /docs", &json!({ "path": ["/docs/note"] }), Fit::Unknown);
    for folder in ["", "docs", "./docs", "~docs", "~other/docs", "../docs"] {
        assert!(ArgumentTest::inside("path", vec![folder.to_owned()]).is_err(), "{folder:?}");
    }
}
