//! The published schema is that of the types, and every file of ours fits it.

use std::path::Path;

/// The published file. `UPDATE_SCHEMA=1` writes it anew.
#[test]
fn the_published_schema_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/config.schema.json");
    let current = format!("{:#}\n", switchboard_config::schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &current).unwrap();
    }
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(published == current, "run the tests with UPDATE_SCHEMA=1 and commit {}", file.display());
}
