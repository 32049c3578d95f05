//! Files for the person alone: traces and exports hold what was said to servers and models.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// A new file that nobody else may read, or an old one, which is emptied and keeps its mode. A pipe that has a reader will
/// do as well.
///
/// # Errors
/// When it cannot be written to: at once for a pipe that nobody reads, which would otherwise be waited for.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        unix::open(&mut options, path)
    }
    #[cfg(not(unix))]
    {
        options.open(path)
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::unix::fs::OpenOptionsExt as _;
    use std::path::Path;

    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;

    pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
        let at_once = OFlags::NONBLOCK.bits().cast_signed();
        let file = options.mode(0o600).custom_flags(at_once).open(path).map_err(explained)?;
        // Only the opening must not wait; what is written waits for whoever reads it.
        fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
        Ok(file)
    }

    fn explained(error: io::Error) -> io::Error {
        match Errno::from_io_error(&error) {
            Some(Errno::NXIO) => {
                io::Error::new(error.kind(), "it is a pipe or a socket that nobody reads from")
            }
            _ => error,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

    use super::create;

    #[test]
    fn a_new_file_is_private_and_an_old_one_keeps_its_mode_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        create(&path).unwrap().write_all(b"first").unwrap();
        assert_eq!(mode(), 0o600);
        for kept in [0o640, 0o600, 0o200] {
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
            create(&path).unwrap();
            assert_eq!((mode(), fs::metadata(&path).unwrap().len()), (kept, 0));
        }
    }

    #[test]
    fn what_cannot_be_written_to_is_an_error_at_once_that_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for (path, why) in [(folder.path(), "Is a directory"), (&*pipe, "nobody reads from")] {
            let error = create(path).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let reader = rustix::fs::open(&pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
        create(&pipe).unwrap().write_all(b"said").unwrap();
        let mut said = String::new();
        fs::File::from(reader).read_to_string(&mut said).unwrap();
        assert_eq!(said, "said");
    }
}
