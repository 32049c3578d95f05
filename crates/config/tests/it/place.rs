//! A machine of its own for each test: a copy of a fixture with a home, a project and our folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_config::{Config, Paths, SecretError, SecretString, Secrets, Sources, TrustStore, load};
use tempfile::TempDir;

/// A machine.
#[derive(Clone)]
pub(crate) struct Place {
    root: Arc<TempDir>,
    pub(crate) sources: Sources,
}

impl Place {
    /// A machine with nothing on it.
    pub(crate) fn empty() -> Self {
        let root = Arc::new(TempDir::new().unwrap());
        for folder in ["home", "project", "config", "data"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        let at = |name: &str| root.path().join(name);
        let mut paths = Paths::find(|name| match name {
            "HOME" => Some(at("home").display().to_string()),
            "SWITCHBOARD_CONFIG_DIR" => Some(at("config").display().to_string()),
            "SWITCHBOARD_DATA_DIR" => Some(at("data").display().to_string()),
            _ => None,
        })
        .unwrap();
        paths.system_file = Some(at("system.toml"));
        let mut sources = Sources::new(paths, at("project"), Arc::new(|_| None));
        sources.secrets = Some(Arc::new(Known::from([("anthropic", "sk-ant-1"), ("files", "sk-files")])));
        let place = Self { root, sources };
        place.env(&[("TRACKER_TOKEN", "tok-123456"), ("TEAM", "blue")])
    }

    /// A machine with the files of a fixture, `@PROJECT@` in them being the folder of the project.
    pub(crate) fn of(fixture: &str) -> Self {
        let place = Self::empty();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(fixture);
        place.copy(&from, place.root.path());
        place
    }

    fn copy(&self, from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                self.copy(&entry.path(), &to);
            } else {
                let text = fs::read_to_string(entry.path()).unwrap();
                fs::write(to, text.replace("@PROJECT@", &self.at("project").display().to_string())).unwrap();
            }
        }
    }

    /// The same with these variables.
    pub(crate) fn env(mut self, variables: &[(&str, &str)]) -> Self {
        let variables: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.sources.env = Arc::new(move |name| variables.get(name).cloned());
        self
    }

    /// A path on it.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Writes a file.
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// What is configured.
    pub(crate) fn load(&self) -> Config {
        load(&self.sources)
    }

    /// Trusts everything that is open.
    pub(crate) fn trust_all(&self) -> &Self {
        TrustStore::open(&self.at("data")).trust(&self.load().untrusted).unwrap();
        self
    }

    /// The text without the folder of this machine.
    pub(crate) fn plain(&self, text: &str) -> String {
        let text = text.replace(&self.root.path().display().to_string(), "<root>");
        // The name of an input of a project holds the place of the project.
        match text.split_once("set input.token.") {
            Some((before, after)) => format!("{before}set input.token.<hash>{}", &after[8..]),
            None => text,
        }
    }
}

/// Secrets that a test knows.
pub(crate) struct Known(BTreeMap<String, String>);

impl<const N: usize> From<[(&str, &str); N]> for Known {
    fn from(known: [(&str, &str); N]) -> Self {
        Self(known.map(|(name, value)| (name.to_owned(), value.to_owned())).into())
    }
}

impl Secrets for Known {
    fn secret(&self, name: &str) -> Result<Option<SecretString>, SecretError> {
        Ok(self.0.get(name).map(|value| SecretString::new(value.as_str())))
    }

    fn keep(&self, _: &str, _: &SecretString) -> Result<(), SecretError> {
        Ok(())
    }
}
