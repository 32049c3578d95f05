//! Files of ours: written whole or not at all, readable by the person alone, and changed by one process at a time.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// What keeps other processes out of a folder for a moment.
const LOCK: &str = ".lock";
/// How long to wait for another process, which only reads and writes a small file.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Writes a file in the place of an earlier one, and its folder if it is not there. A link stays one, and so do the
/// permissions that the person gave it; a new one is readable by the person alone.
///
/// # Errors
/// When that fails; the file is then as it was.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, bytes, true)
}

/// The same for what nobody else may read, whatever its permissions were.
pub(crate) fn write_secret(file: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(file, bytes, false)
}

fn replace(file: &Path, bytes: &[u8], keeps_permissions: bool) -> io::Result<()> {
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    make_folder(folder)?;
    let mut draft = tempfile::Builder::new().prefix(".switchboard-").tempfile_in(folder)?;
    draft.write_all(bytes)?;
    draft.as_file().sync_all()?;
    if keeps_permissions && let Ok(metadata) = fs::metadata(file) {
        fs::set_permissions(draft.path(), metadata.permissions())?;
    }
    draft.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Tries whether files can be made in a folder. Nothing is left there.
///
/// # Errors
/// Why they cannot.
pub fn try_folder(folder: &Path) -> io::Result<()> {
    let mut probe = tempfile::Builder::new().prefix(".switchboard-").tempfile_in(folder)?;
    probe.write_all(b"x")?;
    probe.close()
}

/// Keeps other processes from changing files of this folder until it is dropped.
pub(crate) fn lock(folder: &Path) -> io::Result<File> {
    make_folder(folder)?;
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    wait(options.open(folder.join(LOCK))?)
}

/// Keeps other processes from changing a file that the person sees, until it is dropped: whoever reads it to write it
/// again takes this first. Where a folder can be locked, nothing is left in it.
///
/// # Errors
/// When the folder of the file cannot be made or opened, or another process does not let go of it.
pub fn lock_file(file: &Path) -> io::Result<File> {
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(not(unix)) {
        return lock(folder);
    }
    make_folder(folder)?;
    wait(File::open(folder)?)
}

fn wait(file: File) -> io::Result<File> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is changing it"));
            }
            // Some file systems know no locks, and it worked there without one.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

/// Takes it from everybody else, if it is open to them.
pub(crate) fn close_to_others(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_open = fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
        if is_open {
            // It can be used all the same where that is not possible.
            let _ = fs::set_permissions(file, fs::Permissions::from_mode(0o600));
        }
    }
    #[cfg(not(unix))]
    let _ = file;
}

/// Makes a folder for the person alone; one that is there stays as it is.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
