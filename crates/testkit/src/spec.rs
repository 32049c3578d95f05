//! Where the published schemas and examples are, if they are here at all.
//!
//! They are read from the folder `shared/spec` beside the checkout, or from the one that
//! `SWITCHBOARD_SPEC` names. Where there is none, checks against them are skipped and say so.

use std::path::PathBuf;
use std::sync::Once;

/// The folder of published schemas; says so once where there is none.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SWITCHBOARD_SPEC").map_or_else(beside_the_checkout, PathBuf::from);
    if folder.join("2026-07-28.schema.json").is_file() {
        return Some(folder);
    }
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!("no published schema at {}: the check against it is skipped", folder.display());
    });
    None
}

fn beside_the_checkout() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec"))
}

/// The examples of one definition, as (file name, text); empty where the folder is absent.
#[must_use]
pub fn examples(definition: &str) -> Vec<(String, String)> {
    let Some(folder) = folder() else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(folder.join("2026-07-28.examples").join(definition)) else {
        panic!("the published examples have no folder {definition}");
    };
    let mut found: Vec<_> = entries
        .map(|entry| {
            let path = entry.expect("a readable folder").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a readable example"))
        })
        .collect();
    found.sort();
    found
}
