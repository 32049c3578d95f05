//! The session machines play transcripts (`tests/data/session`) under a clock that is part of the
//! transcript, and hold their promises under any interleaving.

mod client;
mod properties;
mod server;

use std::path::Path;
use std::time::Instant;

/// Plays every transcript of a folder. Lines beginning with `#` say why it is there.
fn each_transcript(folder: &str, play: impl Fn(&str, &str)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/session").join(folder);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        play(&path.display().to_string(), &std::fs::read_to_string(&path).unwrap());
        count += 1;
    }
    assert!(count > 0);
}

/// The steps of a transcript: the place for a failure's message, the verb and the rest.
fn steps<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = (String, &'a str, &'a str)> {
    text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).map(move |(index, line)| {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        (format!("{name}:{}: {line}", index + 1), verb, rest)
    })
}

/// Text in an encoding that is not UTF-8.
fn latin1(text: &str) -> Vec<u8> {
    text.replace("\\xe9", "\u{e9}").chars().map(|char| u8::try_from(char).unwrap()).collect()
}

/// Takes one line from what is to be sent.
fn next_line(pending: Option<&[u8]>) -> Option<String> {
    let line = pending?.split_inclusive(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8(line.to_vec()).unwrap())
}

/// The moment at which a transcript begins; time then passes only as the transcript says.
#[expect(clippy::disallowed_methods, reason = "an instant has no other source; only differences matter")]
fn beginning() -> Instant {
    Instant::now()
}
