//! What is said when the disk, or what is on it, does not work: the cause, the file, and what to do.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use switchboard_agent::store::StoreError;

/// Speaks about one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault<'a>(pub(crate) &'a Path);

impl Fault<'_> {
    pub(crate) fn of(self, error: &rusqlite::Error) -> StoreError {
        let path = self.0.display();
        StoreError::new(match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                format!("the disk is full, or {path} may not grow any more; make room and try again")
            }
            Some(ErrorCode::NotADatabase) => return self.no_store(),
            Some(ErrorCode::DatabaseCorrupt) => return self.damaged(&error.to_string()),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                format!("another process has been writing into {path} for too long; try again")
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                format!("{path} cannot be opened or written ({error}); check who owns it and its folder")
            }
            _ => format!("{path}: {error}"),
        })
    }

    pub(crate) fn no_store(self) -> StoreError {
        let path = self.0.display();
        StoreError::new(format!(
            "{path} is no store of sessions; move it out of the way, and a new one is made"
        ))
    }

    pub(crate) fn damaged(self, why: &str) -> StoreError {
        StoreError::new(format!(
            "{} is damaged ({why}); move it out of the way, and a new one is made. What can be saved of the old one: \
             sqlite3 OLD .recover",
            self.0.display()
        ))
    }

    pub(crate) fn io(self, error: &io::Error) -> StoreError {
        StoreError::new(format!("{} cannot be opened or made: {error}; check its folder", self.0.display()))
    }

    pub(crate) fn newer(self) -> StoreError {
        StoreError::new(format!(
            "{} was written by a newer version of this program; use that one, or move the file out of the way",
            self.0.display()
        ))
    }
}
