//! What an editor asks the person for, once, before it starts a server.

use std::path::Path;

use crate::digest;
use crate::places::Place;
use crate::secret::SecretString;
use crate::sources::Sources;

/// Something to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Input {
    /// What references call it.
    pub id: String,
    /// What it is, for people.
    pub description: String,
    /// Whether it must not be seen while it is typed.
    pub password: bool,
    /// The only answers, if not every text is one.
    pub options: Vec<String>,
    /// The answer where none is given.
    pub default: Option<String>,
}

/// Whoever can ask the person.
pub trait Ask: Send + Sync {
    /// The person's answer; nothing if there is none.
    fn ask(&self, input: &Input) -> Option<SecretString>;
}

impl Input {
    /// A text to be asked.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self { description: id.clone(), id, password: false, options: Vec::new(), default: None }
    }

    /// The variable that answers it.
    #[must_use]
    pub fn variable(&self) -> String {
        let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        format!("SWITCHBOARD_INPUT_{}", self.id.chars().map(fits).collect::<String>())
    }

    /// The secret that its answer is kept as. What was answered for one folder must not go to another, so the name
    /// of an input of a project holds the project.
    pub(crate) fn secret_name(&self, place: &Place, sources: &Sources) -> String {
        let id = &self.id;
        let file = &place.file;
        let in_home = sources
            .paths
            .home
            .as_deref()
            .is_some_and(|home| file.parent().is_some_and(|dir| is_users(dir, home)));
        // A project may be below a folder of settings, and stays one.
        if in_home && !place.foreign {
            return format!("input.{id}");
        }
        let hash = digest::of(&[file.to_string_lossy().as_ref()]);
        format!("input.{id}.{}", hash.get(..8).unwrap_or_default())
    }
}

/// Whether it is a folder of settings of the person, and not of a project.
fn is_users(dir: &Path, home: &Path) -> bool {
    dir == home || [".config", "Library", "AppData"].iter().any(|top| dir.starts_with(home.join(top)))
}
