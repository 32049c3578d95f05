//! The encrypted file: sealed, for the person alone, and clear about what is wrong with it.

use std::fs;

use switchboard_config::{Keeper, SecretStore, SecretString, Secrets as _};
use tempfile::TempDir;

use crate::place::Place;

fn value(store: &SecretStore, name: &str) -> Option<String> {
    store.secret(name).unwrap().map(|value| value.expose().to_owned())
}

#[test]
fn secrets_are_set_listed_and_removed() {
    let folder = TempDir::new().unwrap();
    let store = SecretStore::open(&folder.path().join("data"), Some("file"));
    assert!(store.list().unwrap().is_empty());
    assert_eq!(value(&store, "a"), None);
    assert_eq!(store.set("a", &SecretString::new("first-value")).unwrap(), Keeper::File);
    store.set("b.c", &SecretString::new("ü")).unwrap();
    store.set("a", &SecretString::new("second-value")).unwrap();
    let again = SecretStore::open(&folder.path().join("data"), Some("file"));
    assert_eq!(value(&again, "a").as_deref(), Some("second-value"));
    let names: Vec<String> = again.list().unwrap().into_iter().map(|secret| secret.name).collect();
    assert_eq!(names, ["a", "b.c"]);
    assert!(again.remove("a").unwrap() && !again.remove("a").unwrap());
    assert_eq!((value(&again, "a"), value(&again, "b.c").as_deref()), (None, Some("ü")));
    for name in ["", " a", "a\nb", "a*", &"n".repeat(129)] {
        assert!(store.set(name, &SecretString::new("x")).is_err(), "{name:?}");
    }
}

#[test]
fn nothing_on_the_disk_shows_a_value_and_damage_is_told() {
    let folder = TempDir::new().unwrap();
    let store = SecretStore::open(folder.path(), Some("file"));
    store.set("name-of-it", &SecretString::new("the-value")).unwrap();
    let sealed = folder.path().join("secrets.sealed");
    let bytes = fs::read(&sealed).unwrap();
    for hidden in ["the-value", "name-of-it"] {
        assert!(!bytes.windows(hidden.len()).any(|part| part == hidden.as_bytes()), "{hidden}");
    }
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for (bytes, part) in
        [(&damaged[..], "not sealed with the key"), (b"x", "damaged"), (&bytes[..30], "damaged")]
    {
        fs::write(&sealed, bytes).unwrap();
        let error = store.secret("name-of-it").unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(store.set("other", &SecretString::new("x")).is_err(), "what is there is not lost");
    }
    fs::write(&sealed, &bytes).unwrap();
    fs::remove_file(folder.path().join("secrets.key")).unwrap();
    assert!(store.secret("name-of-it").unwrap_err().to_string().contains("secrets.key"));
}

#[cfg(unix)]
#[test]
fn the_files_are_for_the_person_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    SecretStore::open(folder.path(), Some("file")).set("a", &SecretString::new("x")).unwrap();
    let check = |file: &str, expected: u32| {
        let mode = fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected, "{file}");
    };
    check("secrets.sealed", 0o600);
    check("secrets.key", 0o600);
    // One that was opened to others meanwhile is closed again.
    for file in ["secrets.sealed", "secrets.key"] {
        fs::set_permissions(folder.path().join(file), fs::Permissions::from_mode(0o644)).unwrap();
    }
    SecretStore::open(folder.path(), Some("file")).set("a", &SecretString::new("y")).unwrap();
    check("secrets.sealed", 0o600);
    check("secrets.key", 0o600);
    let below = folder.path().join("made/data");
    SecretStore::open(&below, Some("file")).set("a", &SecretString::new("x")).unwrap();
    check("made/data", 0o700);
}

#[test]
fn processes_that_change_them_at_once_lose_nothing() {
    let folder = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let folder = folder.path();
            scope.spawn(move || {
                SecretStore::open(folder, Some("file")).set(name, &SecretString::new(name)).unwrap();
            });
        }
    });
    let store = SecretStore::open(folder.path(), Some("file"));
    let names: Vec<String> = store.list().unwrap().into_iter().map(|secret| secret.name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
}

#[test]
fn what_must_not_be_shown_of_an_entry_is_known_and_masked() {
    for (entry, secrets) in [
        (
            "command = \"x\"\nargs = [\"--token\", \"t1-secret\", \"--api-key=t2-secret\", \"Authorization: Bearer t3\"]",
            &["t1-secret", "t2-secret", "Bearer t3"][..],
        ),
        ("command = \"x\"\nargs = [\"${secret:files}\", \"plain\"]", &["sk-files"]),
        ("command = \"x\"\nargs = [\"postgres://me:p4ssword@db/x\", \"--quiet\"]", &["p4ssword"]),
        ("command = \"x\"\nargs = [\"redis://me:p4ss/word+1@db/x\"]", &["p4ss/word 1", "p4ss/word+1"]),
        (
            "command = \"x\"\nenv = { PASSPHRASE = \"open sesame\", DB = \"redis://t0ken@h\", PATH = \"/bin\" }",
            &["open sesame", "sesame", "t0ken"],
        ),
        ("url = \"https://ghp_t0ken@h/?api_key=k%2Fy&page=2\"", &["k%2Fy", "k/y", "ghp_t0ken"]),
        (
            "url = \"https://h/?sig=abc&design=x\"\nheaders = { X-Auth = \"Basic dXNlcg==\", Accept = \"text/plain\" }",
            &["Basic dXNlcg==", "dXNlcg==", "abc"],
        ),
    ] {
        let place = Place::empty();
        place.write("config/config.toml", &format!("[servers.a]\n{entry}\n"));
        let server = place.load().servers.remove(0);
        let mut found: Vec<&str> = server.secrets.iter().map(|secret| secret.expose()).collect();
        let mut secrets = secrets.to_vec();
        found.sort_unstable();
        secrets.sort_unstable();
        assert_eq!(found, secrets, "{entry}");
        for secret in secrets {
            assert!(!server.shown.contains(secret), "{secret} is shown: {}", server.shown);
        }
    }
    let place = Place::empty();
    place.write(
        "config/config.toml",
        "[models.m]\nkind = \"openai\"\nbase_url = \"http://u:pa55word@h/?k=q-secret&api-version=2024-06-01\"\nkey = \"${TRACKER_TOKEN}\"\n",
    );
    let found: Vec<String> = place.load().secrets.iter().map(|secret| secret.expose().to_owned()).collect();
    for secret in ["pa55word", "tok-123456", "q-secret"] {
        assert!(found.iter().any(|found| found == secret), "{secret} is not in {found:?}");
    }
    assert!(!found.iter().any(|found| found.starts_with("2024")), "{found:?}");
}
