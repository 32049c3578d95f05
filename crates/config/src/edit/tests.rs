//! What changes in a file, and what does not.

use std::fs;

use super::{Edit, NewServer};

const FILE: &str = "# Mine.\n[servers.a] # the first\ncommand = \"a\"\n\n# About b.\n[servers.b]\nurl = \"http://b\"\nenabled = true # yes\n\n[limits]\nsteps = 3\n";

fn check(before: &str, change: impl FnOnce(&mut Edit), after: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sub/config.toml");
    if !before.is_empty() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, before).unwrap();
    }
    let mut edit = Edit::open(&file).unwrap();
    change(&mut edit);
    edit.save().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
}

#[test]
fn only_what_is_meant_changes() {
    check(FILE, |_| (), FILE);
    check(
        FILE,
        |edit| edit.enable("b", false).unwrap(),
        &FILE.replace("enabled = true # yes", "enabled = false # yes"),
    );
    check(
        FILE,
        |edit| edit.enable("a", false).unwrap(),
        &FILE.replace("command = \"a\"\n", "command = \"a\"\nenabled = false\n"),
    );
    check(FILE, |edit| edit.enable("a", true).unwrap(), FILE);
    check(
        FILE,
        |edit| assert!(edit.remove("a").unwrap() && !edit.remove("a").unwrap()),
        &FILE.replace("# Mine.\n[servers.a] # the first\ncommand = \"a\"\n", ""),
    );
    // A server of another file: an entry that only says this.
    check("", |edit| edit.enable("x.y", false).unwrap(), "[servers.\"x.y\"]\nenabled = false\n");
    check("[servers.x]\nenabled = false\n", |edit| edit.enable("x", true).unwrap(), "");
    check(
        "[servers.x]\nenabled = false\nlazy = true\n",
        |edit| edit.enable("x", true).unwrap(),
        "[servers.x]\nlazy = true\n",
    );
    check("", |edit| edit.enable("x", true).unwrap(), "[servers.x]\nenabled = true\n");
}

#[test]
fn a_server_is_added_where_there_are_others_and_where_there_is_none() {
    let mut server = NewServer { command: Some("npx".into()), ..NewServer::default() };
    server.args = vec!["-y".into(), "a \"b\"".into()];
    server.env = vec![("KEY".into(), "${secret:k}".into())];
    let text =
        "[servers.new]\ncommand = \"npx\"\nargs = [\"-y\", 'a \"b\"']\nenv = { KEY = \"${secret:k}\" }\n";
    check("", |edit| edit.set("new", &server).unwrap(), text);
    let after = |edit: &mut Edit| edit.set("new", &server).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    fs::write(&file, FILE).unwrap();
    let mut edit = Edit::open(&file).unwrap();
    after(&mut edit);
    assert!(
        edit.text().contains(text) && edit.text().contains("# the first") && edit.has("new"),
        "{}",
        edit.text()
    );
}

#[test]
fn processes_that_change_a_file_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sub/config.toml");
    std::thread::scope(|scope| {
        for index in 0..4 {
            let file = &file;
            scope.spawn(move || {
                let mut edit = Edit::open(file).unwrap();
                edit.set(&format!("s{index}"), &NewServer::default()).unwrap();
                edit.save().unwrap();
            });
        }
    });
    let edit = Edit::open(&file).unwrap();
    assert!((0..4).all(|index| edit.has(&format!("s{index}"))), "{}", edit.text());
    let names = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["config.toml"], "nothing is left beside it");
}

#[test]
fn a_broken_file_is_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    fs::write(&file, "[servers.a]\ncommand = \n").unwrap();
    let error = Edit::open(&file).unwrap_err().to_string();
    assert!(error.contains("c.toml:2:11"), "{error}");
    fs::write(&file, "servers = 3\n").unwrap();
    assert!(Edit::open(&file).unwrap().enable("a", true).is_err());
}

#[cfg(unix)]
#[test]
fn a_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real.toml"), folder.path().join("link.toml"));
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut edit = Edit::open(&link).unwrap();
    edit.enable("a", false).unwrap();
    edit.save().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("enabled"));
}
