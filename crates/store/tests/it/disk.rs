//! What only a disk does: it lasts, it is shared, it fills up, it breaks.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

use switchboard_agent::store::{SessionRecord, Store as _};
use switchboard_store::SqliteStore;

use crate::support::{artefact, entry, run, session, sqlite};

#[test]
fn what_was_written_is_there_after_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = sqlite(folder.path());
        store.put_session(&session("one", 10)).unwrap();
        store.append("one", &entry(1, "x")).unwrap();
        store.put_run(&run("r", "one", None)).unwrap();
    }
    let store = sqlite(folder.path());
    assert_eq!(store.session("one").unwrap(), Some(session("one", 10)));
    assert_eq!(store.entries("one", 0, 9).unwrap(), [entry(1, "x")]);
}

#[test]
fn a_session_that_is_held_elsewhere_says_by_which_process() {
    let folder = tempfile::tempdir().unwrap();
    // Two stores in one process hold files apart, as two processes do.
    let (one, other) = (sqlite(folder.path()), sqlite(folder.path()));
    one.hold("s1").unwrap();
    let error = other.hold("s1").unwrap_err();
    assert!(error.is_held());
    let process = std::process::id();
    assert_eq!(
        error.to_string(),
        format!("the session s1 is open in another process ({process}); end that one, or go on there")
    );
    other.hold("s2").unwrap();
    one.release("s1");
    other.hold("s1").unwrap();
    drop(other);
    one.hold("s1").unwrap();
    one.release("s1");
    let left = fs::read_dir(folder.path().join("data/sessions.db.locks")).unwrap().count();
    assert_eq!(left, 1, "only that of a store that was dropped with it");
}

/// Whether the store's files hold these bytes anywhere.
fn holds(folder: &Path, mark: &[u8]) -> bool {
    let files = fs::read_dir(folder.join("data")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.is_file()).any(|path| {
        let bytes = fs::read(path).unwrap();
        bytes.windows(mark.len()).any(|window| window == mark)
    })
}

#[test]
fn what_is_deleted_is_gone_from_the_disk_and_its_place_is_given_back() {
    const MARK: &[u8] = b"nobody is to read this any more";
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    let mark = String::from_utf8(MARK.to_vec()).unwrap();
    let pieces = MARK.repeat((24 << 20) / MARK.len());
    for (id, text) in [("goes", &*mark), ("stays", "this is to stay")] {
        let kept = if id == "goes" { pieces.clone() } else { vec![b'x'; 1 << 20] };
        store.put_session(&SessionRecord { conversation: text.repeat(1000), ..session(id, 10) }).unwrap();
        store.append(id, &entry(1, text)).unwrap();
        store.put_artefact(&artefact(&format!("of-{id}"), id, kept.len() as u64), &kept).unwrap();
    }
    assert!(holds(folder.path(), MARK));
    store.remove_session("goes").unwrap();
    assert!(!holds(folder.path(), MARK), "while the store is open");
    let files = fs::read_dir(folder.path().join("data")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
    assert_eq!(store.artefact_bytes("of-stays", 0, 2 << 20).unwrap(), vec![b'x'; 1 << 20]);
    assert_eq!(store.entries("stays", 0, 9).unwrap(), [entry(1, "this is to stay")]);
    // What is written over goes, too.
    store.put_session(&SessionRecord { conversation: mark.repeat(1000), ..session("stays", 11) }).unwrap();
    store.put_session(&session("stays", 12)).unwrap();
    store.remove_session("none").unwrap();
    assert!(!holds(folder.path(), MARK), "what was written over");
}

#[test]
fn a_full_disk_says_so_and_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path()).max_bytes(512 * 1024).unwrap();
    store.put_session(&session("one", 10)).unwrap();
    store.append("one", &entry(1, "first")).unwrap();
    let large = vec![b'x'; 4 << 20];
    let error = store.put_artefact(&artefact("a", "one", large.len() as u64), &large).unwrap_err();
    assert!(error.to_string().starts_with("the disk is full, or "), "{error}");
    assert!(error.to_string().ends_with("make room and try again"), "{error}");
    assert!(store.artefact("a").unwrap().is_none() && store.artefacts("one").unwrap().is_empty());
    // What was half written made room again.
    let text = "y".repeat(100_000);
    store.append("one", &entry(2, &text)).unwrap();
    let mut seq = 3;
    let error = loop {
        match store.append("one", &entry(seq, &text)) {
            Ok(()) if seq < 100 => seq += 1,
            Ok(()) => panic!("it never fills up"),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("make room"), "{error}");
    assert_eq!(store.entries("one", 0, 1).unwrap(), [entry(1, "first")]);
    assert_eq!(store.last_seq("one").unwrap(), seq - 1);
    drop(store);
    assert_eq!(sqlite(folder.path()).last_seq("one").unwrap(), seq - 1);
}

#[test]
fn what_is_no_store_or_a_broken_one_is_said_with_its_path_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    fs::write(&path, "This is a text, and no database at all, however long it may be. ".repeat(100)).unwrap();
    let error = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("sessions.db is no store") && error.contains("move it out of the way"), "{error}");

    fs::remove_file(&path).unwrap();
    {
        let store = SqliteStore::open(&path).unwrap();
        store.put_session(&session("one", 10)).unwrap();
        let text = "z".repeat(3000);
        (1..200).for_each(|seq| store.append("one", &entry(seq, &text)).unwrap());
    }
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(4096 * 20)).unwrap();
    file.write_all(&[0xff; 4096 * 60]).unwrap();
    drop(file);
    let broken = SqliteStore::open(&path).and_then(|store| store.entries("one", 0, 1000)).unwrap_err();
    let broken = broken.to_string();
    assert!(broken.contains("sessions.db is damaged") && broken.contains(".recover"), "{broken}");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    drop(SqliteStore::open(&path).unwrap());
    // The version stands in bytes 60 to 63 of the file.
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(60)).unwrap();
    file.write_all(&99_u32.to_be_bytes()).unwrap();
    drop(file);
    let error = SqliteStore::open(&path).unwrap_err().to_string();
    assert!(error.contains("written by a newer version"), "{error}");
}

/// Checks what is said about a file that was made and then spoiled.
fn check_spoiled(spoil: impl FnOnce(&Path), expected: Result<Option<u32>, &str>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    {
        let store = SqliteStore::open(&path).unwrap();
        store.put_session(&session("one", 10)).unwrap();
        let text = "z".repeat(3000);
        (1..200).for_each(|seq| store.append("one", &entry(seq, &text)).unwrap());
    }
    spoil(&path);
    match (switchboard_store::check(&path), expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(error), Err(part)) => {
            let error = error.to_string();
            assert!(error.contains("sessions.db") && error.contains(part), "{part:?} is not in {error:?}");
        }
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
    // Nothing was mended or made.
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'switchboard_check'";
    let left =
        rusqlite::Connection::open(&path).and_then(|db| db.query_row(tables, [], |row| row.get::<_, u32>(0)));
    assert!(!matches!(left, Ok(1..)), "{left:?}");
}

/// Writes over a part of a file.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_store_is_checked_before_it_is_needed() {
    let other = |path: &Path| {
        fs::remove_file(path).unwrap();
        rusqlite::Connection::open(path).unwrap().execute_batch("CREATE TABLE t (one)").unwrap();
    };
    check_spoiled(|_| (), Ok(Some(1)));
    check_spoiled(|path| fs::remove_file(path).unwrap(), Ok(None));
    check_spoiled(|path| fs::write(path, "").unwrap(), Ok(None));
    check_spoiled(|path| fs::write(path, "no database ".repeat(999)).unwrap(), Err("is no store"));
    check_spoiled(other, Err("is no store"));
    check_spoiled(|path| overwrite(path, 4096 * 20, &[0xff; 4096 * 60]), Err("is damaged"));
    check_spoiled(|path| overwrite(path, 60, &99_u32.to_be_bytes()), Err("written by a newer version"));
    check_spoiled(
        |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        },
        Err("cannot be opened"),
    );
}

#[test]
fn a_store_that_another_process_writes_into_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    store.put_session(&session("one", 10)).unwrap();
    assert_eq!(switchboard_store::check(&folder.path().join("data/sessions.db")).unwrap(), Some(1));
    store.put_session(&session("two", 10)).unwrap();
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    store.put_session(&session("one", 10)).unwrap();
    for (name, mode) in [("data", 0o700), ("data/sessions.db", 0o600), ("data/sessions.db-wal", 0o600)] {
        let found = fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
}

/// The locks of this process on the store's file. Whoever closes a file lets go of all of its process, also of those
/// that somebody else took.
#[cfg(target_os = "linux")]
fn locks(folder: &Path) -> Vec<String> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = fs::metadata(folder.join("data/sessions.db")).unwrap().ino();
    let (process, inode) = (format!(" {} ", std::process::id()), format!(":{inode} "));
    let all = fs::read_to_string("/proc/locks").unwrap();
    let ours = all.lines().filter(|line| line.contains(&process) && line.contains(&inode));
    ours.map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn who_opens_it_again_leaves_the_locks_of_who_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let one = sqlite(folder.path());
    one.put_session(&session("one", 10)).unwrap();
    let before = locks(folder.path());
    assert!(!before.is_empty(), "an open store holds a lock, or other processes take its log away");
    let other = sqlite(folder.path());
    assert_eq!(locks(folder.path()), before);
    drop(other);
    assert_eq!(locks(folder.path()), before);
}
