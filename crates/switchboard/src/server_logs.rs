//! What servers wrote, kept in files: each run of this program is a process of its own, and `servers logs` shows what
//! the others saw.
//!
//! One file a server, and the one before it; secrets were masked before anything comes here. Whatever goes wrong with
//! the files harms nobody: it is said once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use switchboard_agent::ServerName;
use switchboard_agent::supervisor::{LogLine, LogSink};

/// A file that has grown beyond this becomes the one before.
const MAX_BYTES: u64 = 1 << 20;
/// Files of servers that nobody has started for so long are removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A longer line is none of ours.
const MAX_LINE: u64 = 64 * 1024;

/// Keeps the lines in files below this folder.
pub(crate) fn sink(data_dir: &Path) -> LogSink {
    let folder = folder(data_dir);
    remove_old(&folder);
    let failed = AtomicBool::new(false);
    Arc::new(move |server: &ServerName, line: &LogLine| {
        if let Err(error) = append(&folder, server.as_str(), line)
            && !failed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, folder = %folder.display(), "what servers write is not kept");
        }
    })
}

/// The latest lines of a server, over all processes.
///
/// # Errors
/// When a file that is there cannot be read.
pub(crate) fn read(data_dir: &Path, server: &str, count: usize) -> io::Result<Vec<LogLine>> {
    let (current, before) = paths(&folder(data_dir), server);
    let mut lines = Vec::new();
    for path in [before, current] {
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        // Bounded, whatever somebody else put there.
        let mut reader = BufReader::new(io::Read::take(file, 2 * MAX_BYTES));
        let mut text = Vec::new();
        while io::Read::take(&mut reader, MAX_LINE).read_until(b'\n', &mut text)? > 0 {
            // Half a line, which a crash left, is no line.
            lines.extend(serde_json::from_slice::<LogLine>(&text).ok());
            text.clear();
        }
    }
    // Processes write side by side, each in its own order.
    lines.sort_by_key(|line| line.unix_ms);
    lines.drain(..lines.len().saturating_sub(count));
    Ok(lines)
}

fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("logs")
}

/// The file of a server, and the one before it.
fn paths(folder: &Path, server: &str) -> (PathBuf, PathBuf) {
    let mut name = String::new();
    for byte in server.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02x}"));
        }
    }
    (folder.join(format!("{name}.log")), folder.join(format!("{name}.log.1")))
}

fn append(folder: &Path, server: &str, line: &LogLine) -> io::Result<()> {
    let (current, before) = paths(folder, server);
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    let mut file = match open(&current) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create(folder)?;
            open(&current)?
        }
        other => other?,
    };
    if file.metadata()?.len() + text.len() as u64 > MAX_BYTES {
        // Two processes that do this at once lose the older of the two files, no more.
        fs::rename(&current, &before)?;
        file = open(&current)?;
    }
    // One write a line, so that lines of several processes do not mix.
    file.write_all(&text)
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn create(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let old = written.is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age > MAX_AGE));
        if old {
            // Another process may have been quicker.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use switchboard_agent::ServerName;
    use switchboard_agent::supervisor::{LogLine, LogStream};

    use super::{MAX_BYTES, read, sink};

    fn line(unix_ms: u64, text: &str) -> LogLine {
        LogLine { unix_ms, stream: LogStream::Stderr, text: text.to_owned() }
    }

    #[test]
    fn lines_of_several_processes_are_read_in_the_order_of_time_and_files_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let server = ServerName::new("files at home").unwrap();
        assert_eq!(read(folder.path(), server.as_str(), 10).unwrap(), []);
        let (one, two) = (sink(folder.path()), sink(folder.path()));
        one(&server, &line(1, "a"));
        two(&server, &line(3, "c"));
        one(&server, &line(2, "b"));
        let texts = |count| -> Vec<String> {
            let lines = read(folder.path(), server.as_str(), count).unwrap();
            lines.into_iter().map(|line| line.text).collect()
        };
        assert_eq!(
            (texts(10), texts(2)),
            (["a", "b", "c"].map(str::to_owned).to_vec(), vec!["b".into(), "c".into()])
        );
        (0..40_000).for_each(|number| one(&server, &line(10 + number, &"x".repeat(50))));
        let sizes: Vec<u64> = fs::read_dir(folder.path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= MAX_BYTES), "{sizes:?}");
        let kept = read(folder.path(), server.as_str(), usize::MAX).unwrap();
        assert_eq!(kept.last().unwrap().unix_ms, 40_009);
        // What is no line of ours is left out.
        let path = folder.path().join("logs").join("files%20at%20home.log");
        fs::write(&path, b"{\"half\n\xff\xff\n").unwrap();
        assert!(read(folder.path(), server.as_str(), 1).is_ok());
    }
}
