//! Reads the data files of `tests/data`: each is one kind of trouble, and each of its rows one instance.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The rows under this member of a data file.
pub(crate) fn rows<T: DeserializeOwned>(text: &str, member: &str) -> Vec<T> {
    let mut file: Value = serde_json::from_str(text).unwrap();
    assert!(file["why"].is_string(), "a data file says why it is there");
    let rows: Vec<T> = serde_json::from_value(file[member].take()).unwrap();
    assert!(!rows.is_empty());
    rows
}
