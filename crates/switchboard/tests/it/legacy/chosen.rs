//! `--era` and `--newest`: what may be spoken, where somebody chooses.

use std::time::{Duration, Instant};

use switchboard_client::Revision;

use super::{asking, capped, with_child};
use crate::program::{Ran, over_stdio, run};

#[test]
fn the_choices_come_from_the_libraries() {
    let all: Vec<&str> = Revision::MODERN.iter().chain(Revision::LEGACY).map(|known| known.date()).collect();
    for args in [
        &["--json", "tools", "list", "--demo", "--era", "nonsense"][..],
        &["--json", "run", "q", "--demo", "--era", "2024-01-01"],
        &["--json", "inspect", "http://127.0.0.1:9/mcp", "ping", "--era", "nonsense"],
    ] {
        let said = run(args).expect(1).error()["message"].to_string();
        for choice in ["auto", "modern", "legacy"].iter().chain(&all) {
            assert!(said.contains(choice), "{choice} is not in {said}");
        }
    }
    let said = run(&["--json", "demo", "--newest", "nonsense"]).expect(1).error()["message"].to_string();
    assert!(all.iter().all(|date| said.contains(date)), "{said}");
    let help = run(&["tools", "--help"]).expect(0).stdout;
    assert!(help.contains("--era") && help.contains("Opens a session at once"), "{help}");
}

/// Lists the tools of a server, and says which revision was spoken.
fn spoken(options: &[&str], child: &[String]) -> String {
    let listed = run(&with_child(&[&["--json", "tools"], options].concat(), child)).expect(0).json();
    listed["servers"][0]["revision"].as_str().unwrap().to_owned()
}

#[test]
fn a_server_of_both_eras_is_spoken_to_as_chosen() {
    let child = over_stdio("calculator");
    let latest = Revision::LATEST.date();
    for (options, revision) in [
        (&[][..], latest),
        (&["list", "--era", "auto"], latest),
        (&["list", "--era", "modern"], latest),
        (&["list", "--era", latest], latest),
        (&["list", "--era", "legacy"], Revision::NEWEST_LEGACY.date()),
        (&["--era", "legacy", "list"], Revision::NEWEST_LEGACY.date()),
        (&["--era", "legacy", "list", "--era", "modern"], latest),
    ] {
        assert_eq!(spoken(options, &child), revision, "{options:?}");
    }
    for revision in Revision::LEGACY {
        assert_eq!(spoken(&["list", "--era", revision.date()], &child), revision.date());
    }
}

#[test]
fn a_server_that_is_silent_first_is_told_how_to_spare_that() {
    let mut child = asking(Revision::NEWEST_LEGACY.date(), &"".into());
    let fast = child.clone();
    child[2] =
        child[2].replace(r#"*'"server/discover"'*)"#, r#"*'"server/discover"'*) continue;; *'"unused"'*)"#);
    for (options, child, is_told) in [
        (&["tools", "list"][..], &child, true),
        (&["tools", "list", "--era", "legacy"], &child, false),
        (&["tools", "list"], &fast, false),
        // It is remembered how it is spoken to.
        (&["tools", "list"], &child, false),
    ] {
        let since = Instant::now();
        let ran = run(&with_child(options, child)).expect(0);
        // One that should not be silent may be slow all the same on a busy machine.
        let was_silent = is_told || since.elapsed() > Duration::from_secs(1);
        assert!(ran.stderr.contains("`--era legacy`") == is_told || was_silent, "{}", ran.stderr);
    }
}

/// The failure of a command against this server: no revision in common.
fn refused(options: &[&str], child: &[String], parts: &[&str]) -> Ran {
    let ran = run(&with_child(&[&["--json", "tools", "list"], options].concat(), child)).expect(4);
    let error = ran.error();
    assert_eq!(error["kind"], "server_unreachable");
    for part in parts {
        assert!(error.to_string().contains(part), "{part:?} is not in {error}");
    }
    ran
}

#[test]
fn no_revision_in_common_is_4_and_says_which_option_helps() {
    let legacy = capped("calculator", Revision::NEWEST_LEGACY);
    refused(&["--era", "modern"], &legacy, &["legacy", "leave --era out", "--era auto"]);
    refused(&["--era", Revision::LATEST.date()], &legacy, &["legacy", "leave --era out"]);
    let [.., second, first] = Revision::LEGACY else { panic!("there are several") };
    refused(&["--era", first.date()], &asking(second.date(), &"".into()), &[first.date(), second.date()]);
    refused(&[], &asking("2099-01-01", &"".into()), &["2099-01-01"]);
    let one = run(&with_child(&["tools", "list", "--era", "modern"], &legacy)).expect(4);
    assert!(!one.stderr.contains("Era::"), "the library's words: {}", one.stderr);
}
