//! Configuration of the host: which servers, models, rules and limits there are, and where each comes from.
//!
//! Reads a native TOML file and, in place, the files that people have for other hosts. It starts nothing and
//! speaks no protocol, and it knows the world only through [`Sources`]: no variable of the environment and no home is
//! read behind the back of whoever calls.
//!
//! [`load`] is the way in; [`Config`] is what comes out. A file or an entry that cannot be used is a [`Problem`] with
//! its place, and never in the way of the others.

mod config;
mod digest;
mod dotenv;
mod edit;
mod entry;
mod expand;
mod foreign;
mod inputs;
mod keep;
mod load;
mod native;
mod nearest;
mod origin;
mod paths;
mod places;
mod raw;
mod secret;
mod secrets;
mod shown;
mod sources;
mod text;
mod transfer;
mod trust;
mod variables;
mod whole;

pub use crate::config::{
    ArgumentRule, Broken, Config, LimitsConfig, ListenConfig, ModelEntry, ModelKind, PolicyConfig,
    RuleAction, RuleConfig, RuleMode, Shadowed, Untrusted,
};
pub use crate::edit::{Edit, EditError, NewServer};
pub use crate::entry::{EraChoice, HttpTransport, ServerEntry, Target, ToolFilter, Trust};
pub use crate::inputs::{Ask, Input};
pub use crate::keep::{lock_file, try_folder, write as write_file};
pub use crate::load::load;
pub use crate::native::schema;
pub use crate::origin::{Layer, Notice, Origin, OriginKind, Problem};
pub use crate::paths::Paths;
pub use crate::secret::SecretString;
pub use crate::secrets::{Keeper, SecretError, SecretStore, Secrets, StoredSecret};
pub use crate::sources::{Lookup, Sources};
pub use crate::transfer::{Exported, Format, Import, Imports, export, imports};
pub use crate::trust::TrustStore;
pub use crate::variables::Variables;
