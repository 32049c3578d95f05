//! One table of behaviours, for every store.

use switchboard_agent::store::{MemoryStore, RunRecord, RunStatus, SessionRecord, Store};

use crate::support::{artefact, entry, run, session, sqlite};

type Behaviour = (&'static str, fn(&dyn Store));

const BEHAVIOURS: &[Behaviour] = &[
    ("documents are written, read, listed by kind and removed", documents),
    ("a session is written twice, listed by its last change without its conversation", sessions),
    ("what belongs to a session goes with it, and nothing else does", removal),
    ("a journal is read in pages from anywhere", journals),
    ("a run changes its state and keeps its question; a key finds it", runs),
    ("an artefact is read in ranges, past its end, too", artefacts),
    ("an artefact that sessions share goes with the last of them", sharing),
    ("an artefact that is there already is not kept again", what_is_kept_twice_is_kept_once),
    ("a session is held again by its own process", holding),
];

#[test]
fn every_store_does_the_same() {
    for (name, behaviour) in BEHAVIOURS {
        println!("in memory: {name}");
        behaviour(&MemoryStore::default());
        println!("on disk: {name}");
        let folder = tempfile::tempdir().unwrap();
        behaviour(&sqlite(folder.path()));
    }
}

fn documents(store: &dyn Store) {
    assert_eq!(store.document("pin", "a").unwrap(), None);
    for (kind, key, text) in [("pin", "b", "2"), ("pin", "a", "1"), ("grant", "a", "3"), ("pin", "a", "4")] {
        store.put_document(kind, key, Some(text)).unwrap();
    }
    let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
    assert_eq!(store.documents("pin").unwrap(), [pair("a", "4"), pair("b", "2")]);
    store.put_document("pin", "a", None).unwrap();
    assert_eq!(store.document("pin", "a").unwrap(), None);
    assert_eq!(store.document("grant", "a").unwrap().as_deref(), Some("3"));
}

fn sessions(store: &dyn Store) {
    store.put_session(&session("one", 10)).unwrap();
    store.put_session(&session("two", 20)).unwrap();
    store.put_session(&SessionRecord { title: "other".to_owned(), ..session("one", 30) }).unwrap();
    let one = store.session("one").unwrap().unwrap();
    assert_eq!((one.title.as_str(), one.conversation.is_empty()), ("other", false));
    let listed = store.sessions().unwrap();
    let listed: Vec<_> = listed.iter().map(|one| (one.id.as_str(), one.conversation.as_str())).collect();
    assert_eq!(listed, [("one", ""), ("two", "")]);
    assert_eq!(store.session("three").unwrap(), None);
    let waits = RunRecord { status: RunStatus::InputRequired, ..run("r-2", "two", None) };
    for run in [run("r-1", "two", None), waits] {
        store.put_run(&run).unwrap();
    }
    let listed = |limit| -> Vec<_> {
        let listed = store.listed(limit).unwrap();
        listed.into_iter().map(|(one, last)| (one.id, one.conversation, last)).collect()
    };
    let expected = |id: &str, last| (id.to_owned(), String::new(), last);
    let (one, two) = (expected("one", None), expected("two", Some(RunStatus::InputRequired)));
    assert_eq!(listed(9), [one.clone(), two]);
    assert_eq!(listed(1), [one]);
}

fn removal(store: &dyn Store) {
    for id in ["one", "two"] {
        store.put_session(&session(id, 10)).unwrap();
        store.append(id, &entry(1, id)).unwrap();
        store.put_run(&run(&format!("r-{id}"), id, None)).unwrap();
        store.put_artefact(&artefact(&format!("a-{id}"), id, 3), b"abc").unwrap();
    }
    store.remove_session("one").unwrap();
    store.remove_session("one").unwrap();
    assert_eq!((store.session("one").unwrap(), store.entries("one", 0, 9).unwrap().len()), (None, 0));
    assert!(store.runs("one").unwrap().is_empty() && store.run("r-one").unwrap().is_none());
    assert!(store.artefact("a-one").unwrap().is_none() && store.artefact_bytes("a-one", 0, 1).is_err());
    assert_eq!(store.entries("two", 0, 9).unwrap(), [entry(1, "two")]);
    assert_eq!(store.artefact_bytes("a-two", 0, 9).unwrap(), b"abc");
}

fn journals(store: &dyn Store) {
    store.put_session(&session("one", 10)).unwrap();
    assert_eq!(store.last_seq("one").unwrap(), 0);
    // A crash leaves a gap.
    let seqs = [1, 2, 3, 1_048_580, 1_048_581];
    seqs.iter().for_each(|seq| store.append("one", &entry(*seq, "x")).unwrap());
    assert_eq!(store.last_seq("one").unwrap(), 1_048_581);
    for (after, limit, expected) in
        [(0, 2, &seqs[..2]), (2, 2, &seqs[2..4]), (4, 9, &seqs[3..]), (9_999_999, 9, &[])]
    {
        let page: Vec<_> =
            store.entries("one", after, limit).unwrap().iter().map(|entry| entry.seq).collect();
        assert_eq!(page, expected, "{after} {limit}");
    }
    assert_eq!(store.entries("one", 0, 1).unwrap(), [entry(1, "x")]);
}

fn runs(store: &dyn Store) {
    store.put_session(&session("one", 10)).unwrap();
    store.put_run(&run("a", "one", Some("key"))).unwrap();
    store.put_run(&run("b", "one", None)).unwrap();
    let waiting = RunRecord {
        status: RunStatus::InputRequired,
        turn: Some("{}".to_owned()),
        requests: Some("[]".to_owned()),
        ..run("a", "one", Some("key"))
    };
    store.put_run(&waiting).unwrap();
    assert_eq!(store.run("a").unwrap(), Some(waiting.clone()));
    assert_eq!(store.run_with_key("key").unwrap(), Some(waiting.clone()));
    assert_eq!(store.run_with_key("other").unwrap(), None);
    assert_eq!(store.runs("one").unwrap(), [waiting, run("b", "one", None)]);
}

fn artefacts(store: &dyn Store) {
    store.put_session(&session("one", 10)).unwrap();
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|number| (number % 251) as u8).collect();
    store.put_artefact(&artefact("a", "one", bytes.len() as u64), &bytes).unwrap();
    store.put_artefact(&artefact("empty", "one", 0), b"").unwrap();
    for (offset, length) in [
        (0, 0),
        (0, 10),
        (262_140, 9),
        (262_144, 262_144),
        (999_990, 100),
        (2_000_000, 5),
        (0, usize::MAX),
        (17, 900_000),
    ] {
        let from = usize::try_from(offset).unwrap().min(bytes.len());
        let to = from.saturating_add(length).min(bytes.len());
        assert!(store.artefact_bytes("a", offset, length).unwrap() == bytes[from..to], "{offset} {length}");
    }
    assert_eq!(store.artefact_bytes("empty", 0, 5).unwrap(), b"");
    let listed: Vec<_> = store.artefacts("one").unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(listed, ["a", "empty"]);
    assert!(store.artefact_bytes("none", 0, 1).is_err());
}

/// What the sessions have, each as the ids of its artefacts.
fn had(store: &dyn Store, sessions: &[&str]) -> Vec<String> {
    let of = |session: &&str| {
        let records = store.artefacts(session).unwrap();
        assert!(records.iter().all(|record| record.session == **session), "{records:?}");
        let ids: Vec<_> = records.into_iter().map(|record| record.id).collect();
        assert!(ids.iter().all(|id| store.artefact_of(session, id).unwrap().is_some()), "{ids:?}");
        format!("{session}: {}", ids.join(" "))
    };
    sessions.iter().map(of).collect()
}

fn sharing(store: &dyn Store) {
    for id in ["one", "two", "three", "other"] {
        store.put_session(&session(id, 10)).unwrap();
    }
    for id in ["a", "b"] {
        store.put_artefact(&artefact(id, "one", 3), b"abc").unwrap();
    }
    store.share_artefact("two", "a").unwrap();
    store.share_artefact("three", "a").unwrap();
    store.share_artefact("two", "a").unwrap();
    store.share_artefact("one", "a").unwrap();
    assert_eq!(had(store, &["one", "two", "three", "other"]), ["one: a b", "two: a", "three: a", "other: "]);
    assert!(
        store.artefact_of("two", "b").unwrap().is_none()
            && store.artefact_of("other", "a").unwrap().is_none()
    );
    assert!(store.share_artefact("two", "none").is_err());
    for (gone, left, had_by) in
        [("one", &["two", "three"][..], &["two: a", "three: a"][..]), ("two", &["three"], &["three: a"])]
    {
        store.remove_session(gone).unwrap();
        assert_eq!(had(store, left), had_by, "{gone}");
        assert_eq!(store.artefact_bytes("a", 0, 9).unwrap(), b"abc");
        assert!(store.artefact("b").unwrap().is_none());
    }
    store.remove_session("three").unwrap();
    assert!(store.artefact("a").unwrap().is_none() && store.artefact_bytes("a", 0, 1).is_err());
}

fn what_is_kept_twice_is_kept_once(store: &dyn Store) {
    for id in ["one", "two"] {
        store.put_session(&session(id, 10)).unwrap();
        for _ in 0..2 {
            store.put_artefact(&artefact("same", id, 3), b"abc").unwrap();
        }
    }
    assert_eq!(had(store, &["one", "two"]), ["one: same", "two: same"]);
    store.remove_session("one").unwrap();
    assert_eq!(store.artefact_bytes("same", 0, 9).unwrap(), b"abc");
    store.remove_session("two").unwrap();
    assert!(store.artefact("same").unwrap().is_none());
}

fn holding(store: &dyn Store) {
    store.hold("one").unwrap();
    store.hold("one").unwrap();
    store.release("one");
    store.release("one");
    store.release("one");
    store.hold("one").unwrap();
}
