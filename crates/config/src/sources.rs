//! What the configuration is read from. Nothing else of the world is seen by this crate.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::inputs::Ask;
use crate::paths::Paths;
use crate::places;
use crate::secrets::Secrets;

/// Looks up a variable of the environment.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What the configuration is read from.
#[derive(Clone)]
#[non_exhaustive]
pub struct Sources {
    /// Our own folders and the home.
    pub paths: Paths,
    /// The folder that the person works in.
    pub directory: PathBuf,
    /// The environment.
    pub env: Lookup,
    /// What `${secret:…}` means, and where answers are kept.
    pub secrets: Option<Arc<dyn Secrets>>,
    /// Who can ask the person for inputs.
    pub ask: Option<Arc<dyn Ask>>,
    /// The only servers whose values are wanted; all if absent.
    pub wanted: Option<Vec<String>>,
    /// A file that the person named; it wins over all others.
    pub explicit: Option<PathBuf>,
    /// Whether only that file is read.
    pub only_explicit: bool,
}

impl Sources {
    /// Reads the usual places around this folder.
    #[must_use]
    pub fn new(paths: Paths, directory: impl Into<PathBuf>, env: Lookup) -> Self {
        Self {
            paths,
            directory: directory.into(),
            env,
            secrets: None,
            ask: None,
            wanted: None,
            explicit: None,
            only_explicit: false,
        }
    }

    /// Our own file of the folder that the person works in: the nearest that there is, else one in that folder.
    #[must_use]
    pub fn project_file(&self) -> PathBuf {
        let files = places::project_folders(self).into_iter().map(|folder| folder.join(places::PROJECT_FILE));
        let there = files.into_iter().find(|file| file.is_file());
        there.unwrap_or_else(|| self.directory.join(places::PROJECT_FILE))
    }

    /// The same without secrets, and without anybody to be asked.
    pub(crate) fn without_secrets(&self) -> Self {
        Self { secrets: None, ask: None, ..self.clone() }
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { paths, directory, explicit, only_explicit, .. } = self;
        let mut shown = f.debug_struct("Sources");
        shown.field("paths", paths).field("directory", directory).field("explicit", explicit);
        shown.field("only_explicit", only_explicit).finish_non_exhaustive()
    }
}
