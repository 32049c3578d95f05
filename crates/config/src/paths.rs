//! Where things are on this machine: our own folders, and the places of other products below a home.

use std::path::PathBuf;

use crate::places::join;

/// Names the folder of the configuration.
const CONFIG_DIR: &str = "SWITCHBOARD_CONFIG_DIR";
/// Names the folder of what is kept.
const DATA_DIR: &str = "SWITCHBOARD_DATA_DIR";
/// Names the file for everyone on this machine.
const SYSTEM_FILE: &str = "SWITCHBOARD_SYSTEM_CONFIG";
const OWN: &str = "switchboard";

/// Our own folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// The home of the person; nothing is looked for in it if there is none.
    pub home: Option<PathBuf>,
    /// Where the person's configuration is.
    pub config_dir: PathBuf,
    /// Where decisions, secrets and sessions are kept.
    pub data_dir: PathBuf,
    /// The native file for everyone on this machine, if there may be one.
    pub system_file: Option<PathBuf>,
}

impl Paths {
    /// Finds the folders: `SWITCHBOARD_CONFIG_DIR` and `SWITCHBOARD_DATA_DIR`, else those of the platform. Nothing if
    /// neither they nor a home are known.
    #[must_use]
    pub fn find(env: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME").or_else(|| set("USERPROFILE"));
        let below = |parts: &[&str]| home.as_deref().map(|home| join(home, parts));
        let (config, data) = if cfg!(windows) {
            let roaming = set("APPDATA").or_else(|| below(&["AppData", "Roaming"]));
            let local = set("LOCALAPPDATA").or_else(|| below(&["AppData", "Local"]));
            (roaming, local)
        } else {
            let absolute = |path: &PathBuf| path.is_absolute();
            let config = set("XDG_CONFIG_HOME").filter(absolute).or_else(|| below(&[".config"]));
            let data = set("XDG_DATA_HOME").filter(absolute).or_else(|| below(&[".local", "share"]));
            (config, data)
        };
        let config_dir = set(CONFIG_DIR).or_else(|| config.map(|dir| dir.join(OWN)))?;
        let data_dir = set(DATA_DIR).or_else(|| data.map(|dir| dir.join(OWN)))?;
        let system_file = set(SYSTEM_FILE).or_else(|| {
            let folder = if cfg!(windows) {
                set("PROGRAMDATA")?
            } else if cfg!(target_os = "macos") {
                PathBuf::from("/Library/Application Support")
            } else {
                PathBuf::from("/etc")
            };
            Some(join(&folder, &[OWN, "config.toml"]))
        });
        Some(Self { home, config_dir, data_dir, system_file })
    }

    /// The native file of the person.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config_dir.join("config.toml")
    }

    /// The database of sessions.
    #[must_use]
    pub fn store_file(&self) -> PathBuf {
        self.data_dir.join("switchboard.sqlite")
    }
}
