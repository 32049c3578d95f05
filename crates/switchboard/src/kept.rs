//! What outlives the process: the store in the folder for data.

use std::sync::Arc;

use switchboard_agent::store::{Store, StoreError};
use switchboard_store::SqliteStore;

use crate::failure::Failure;
use crate::settings::Settings;

/// Opens the store.
///
/// # Errors
/// When there is no folder for it, or it cannot be used.
pub(crate) fn store(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    let store = SqliteStore::open(&settings.store_path()?).map_err(|error| failure(&error))?;
    Ok(Arc::new(store))
}

/// What is kept cannot be read or written.
pub(crate) fn failure(error: &StoreError) -> Failure {
    Failure::usage(
        error.to_string(),
        "see with `switchboard doctor` what is wrong, or name another folder with SWITCHBOARD_DATA_DIR",
    )
}
