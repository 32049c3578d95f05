//! Who holds a session: one process at a time, by a lock file that the system lets go of however the process ends.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard_agent::store::StoreError;

use crate::beside;
use crate::fault::Fault;

/// Lock files that were taken away under our hands are made anew this often.
const TRIES: u32 = 16;

/// The sessions that this process holds.
#[derive(Debug)]
pub(crate) struct Holds {
    folder: PathBuf,
    held: Mutex<HashMap<String, Held>>,
}

#[derive(Debug)]
struct Held {
    file: File,
    path: PathBuf,
    /// How often it is held here.
    count: usize,
}

enum Taken {
    Held(File),
    /// By somebody else, who left this behind.
    Other(String),
}

impl Holds {
    pub(crate) fn beside(store: &Path) -> Self {
        Self { folder: beside(store, ".locks"), held: Mutex::default() }
    }

    pub(crate) fn hold(&self, session: &str, fault: Fault<'_>) -> Result<(), StoreError> {
        let mut held = self.lock();
        if let Some(held) = held.get_mut(session) {
            held.count += 1;
            return Ok(());
        }
        let path = self.folder.join(file_name(session));
        match self.take(&path).map_err(|error| fault.io(&error))? {
            Taken::Held(file) => {
                held.insert(session.to_owned(), Held { file, path, count: 1 });
                Ok(())
            }
            Taken::Other(process) => Err(StoreError::held(format!(
                "the session {session} is open in another process{process}; end that one, or go on there"
            ))),
        }
    }

    pub(crate) fn release(&self, session: &str) {
        let mut held = self.lock();
        let Some(one) = held.get_mut(session) else { return };
        one.count -= 1;
        if one.count == 0
            && let Some(Held { file, path, .. }) = held.remove(session)
        {
            // Taken away while it is locked: whoever has it open by then sees that it is another file.
            let _ = fs::remove_file(path);
            drop(file);
        }
    }

    fn take(&self, path: &Path) -> io::Result<Taken> {
        fs::create_dir_all(&self.folder)?;
        for _ in 0..TRIES {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => {
                    file.set_len(0)?;
                    file.rewind()?;
                    write!(file, "{}", std::process::id())?;
                    return Ok(Taken::Held(file));
                }
                // The one who held it has just taken it away.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut process = String::new();
                    let _ = file.take(20).read_to_string(&mut process);
                    let digits = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
                    return Ok(Taken::Other(if digits { format!(" ({process})") } else { String::new() }));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("the lock file is taken away again and again"))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the file that is open is the one at that place.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Where an open file cannot be taken away, it is the one.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Names are ours, but a file of another name would be worse than a long one.
fn file_name(session: &str) -> String {
    let plain = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("_{byte:02x}") }
    };
    session.bytes().map(plain).collect()
}
