//! The events of the first and the third stage: what servers declare, and what of that a model is offered.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::name::ServerName;

/// A server declares a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Declaration {
    /// A definition that can be used.
    Tool {
        /// Whose.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// For people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Any change of the definition changes it.
        definition: Digest,
    },
    /// All definitions of a server that can be used, in a session. What a [`Tool`](Self::Tool) says of each is in an
    /// artefact.
    Listed {
        /// Whose.
        server: ServerName,
        /// The tools' own names.
        tools: Vec<String>,
        /// The artefact: a JSON list with `name`, `server`, `tool`, `title` and `definition` of each tool that is
        /// offered.
        kept: String,
    },
}

/// Tools were compiled for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Exposed {
    /// The tools that are offered, in their order.
    Offered {
        /// Their names.
        tools: Vec<ExposedName>,
    },
    /// The same in a session, where their names are in an artefact.
    Listed {
        /// How many.
        tools: usize,
        /// The artefact: see [`Declaration::Listed`].
        kept: String,
    },
    /// A tool that is not offered.
    LeftOut {
        /// Whose.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// Why.
        reason: String,
        /// Whether that is a fault of the tool's definition, and no wish of the person.
        #[serde(default)]
        fault: bool,
    },
    /// A tool that is offered although its arguments cannot be checked here.
    Unchecked {
        /// Whose.
        server: ServerName,
        /// The tool's own name.
        tool: String,
        /// Why.
        reason: String,
    },
}

/// A tool and what a model calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExposedName {
    /// What a model calls it.
    pub name: String,
    /// Whose it is.
    pub server: ServerName,
    /// The tool's own name.
    pub tool: String,
}
