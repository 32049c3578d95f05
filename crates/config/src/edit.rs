//! Changes to our own file. Comments, order and everything that is not meant stay as they are.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value, value};

use crate::keep;
use crate::text::Lines;

/// A file of ours, about to be changed. Nothing is written before [`save`](Self::save), and no other process changes it
/// for as long as this is there.
#[derive(Debug)]
pub struct Edit {
    file: PathBuf,
    document: DocumentMut,
    _alone: Option<File>,
}

/// Why a file cannot be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// It cannot be read or written.
    #[error("{file}: {source}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not TOML, or not of our shape, so nothing is changed in it.
    #[error("{file}:{line}:{column}: {message}", file = file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// Why.
        message: String,
    },
}

/// A server to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewServer {
    /// The program, and its arguments.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// A file with more of them.
    pub env_file: Option<String>,
    /// Where it is started.
    pub cwd: Option<String>,
    /// The address.
    pub url: Option<String>,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The transport, if it is HTTP+SSE.
    pub sse: bool,
    /// Whether it is used; said only if it is not.
    pub disabled: bool,
}

impl Edit {
    /// Opens a file; one that is not there is empty. Waits for another process that changes it.
    ///
    /// # Errors
    /// When it cannot be read, is broken, or another process does not let go of it.
    pub fn open(file: &Path) -> Result<Self, EditError> {
        let alone =
            keep::lock_file(file).map_err(|source| EditError::Io { file: file.to_owned(), source })?;
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(source) => return Err(EditError::Io { file: file.to_owned(), source }),
        };
        let document = text.parse::<DocumentMut>().map_err(|error| {
            let at = Lines::of(&text).position(error.span().map_or(0, |span| span.start));
            let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
            EditError::Broken { file: file.to_owned(), line: at.line, column: at.column, message }
        })?;
        Ok(Self { file: file.to_owned(), document, _alone: Some(alone) })
    }

    /// A file that is nowhere.
    pub(crate) fn empty() -> Self {
        Self { file: PathBuf::new(), document: DocumentMut::new(), _alone: None }
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Whether it has an entry of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.server(name).is_some()
    }

    /// Whether it says how this server is reached.
    #[must_use]
    pub fn reaches(&self, name: &str) -> bool {
        let has = |key: &str| self.server(name).is_some_and(|server| server.get(key).is_some());
        has("command") || has("url")
    }

    fn server(&self, name: &str) -> Option<&Item> {
        self.document.get("servers")?.get(name)
    }

    /// Adds a server, or writes it in the place of the one of this name.
    ///
    /// # Errors
    /// When `servers` is no table.
    pub fn set(&mut self, name: &str, server: &NewServer) -> Result<(), EditError> {
        let table = table_of(server);
        self.servers()?.insert(name, Item::Table(table));
        Ok(())
    }

    /// Removes a server. Returns whether there was one.
    ///
    /// # Errors
    /// When `servers` is no table.
    pub fn remove(&mut self, name: &str) -> Result<bool, EditError> {
        if !self.has(name) {
            return Ok(false);
        }
        Ok(self.servers()?.remove(name).is_some())
    }

    /// Enables or disables a server, also one of another file. What disabling wrote goes when it is enabled; an entry
    /// that does not disable it enables one that another file disables.
    ///
    /// # Errors
    /// When the entry is no table.
    pub fn enable(&mut self, name: &str, enabled: bool) -> Result<(), EditError> {
        let reaches = self.reaches(name);
        let not_a_table = self.not_a_table(name);
        let servers = self.servers()?;
        let entry = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
        let entry = entry.as_table_like_mut().ok_or(not_a_table)?;
        let disabled = entry.get("enabled").and_then(Item::as_bool) == Some(false);
        if enabled && (reaches || disabled) {
            // That is what an entry is without saying so.
            entry.remove("enabled");
            if entry.is_empty() {
                self.remove(name)?;
            }
        } else if let Some(there) = entry.get_mut("enabled").and_then(Item::as_value_mut) {
            let decor = there.decor().clone();
            *there = Value::from(enabled);
            *there.decor_mut() = decor;
        } else {
            entry.insert("enabled", value(enabled));
        }
        Ok(())
    }

    fn servers(&mut self) -> Result<&mut dyn toml_edit::TableLike, EditError> {
        let not_a_table = self.not_a_table("servers");
        let servers = self.document.entry("servers").or_insert_with(|| {
            let mut table = Table::new();
            // It has no line of its own as long as it only holds tables.
            table.set_implicit(true);
            Item::Table(table)
        });
        servers.as_table_like_mut().ok_or(not_a_table)
    }

    fn not_a_table(&self, key: &str) -> EditError {
        let message = format!("`{key}` is no table");
        EditError::Broken { file: self.file.clone(), line: 1, column: 1, message }
    }

    /// The text as it would be written.
    #[must_use]
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Writes the file, and its folder if it is not there.
    ///
    /// # Errors
    /// When that fails; the file is then as it was.
    pub fn save(&self) -> Result<(), EditError> {
        keep::write(&self.file, self.text().as_bytes())
            .map_err(|source| EditError::Io { file: self.file.clone(), source })
    }
}

fn table_of(server: &NewServer) -> Table {
    let mut table = Table::new();
    let mut text = |key: &str, text: &Option<String>| {
        if let Some(text) = text {
            table.insert(key, value(text));
        }
    };
    text("command", &server.command);
    text("url", &server.url);
    text("env_file", &server.env_file);
    text("cwd", &server.cwd);
    if !server.args.is_empty() {
        table.insert("args", value(server.args.iter().collect::<Array>()));
    }
    for (key, pairs) in [("env", &server.env), ("headers", &server.headers)] {
        if !pairs.is_empty() {
            table.insert(key, value(pairs.iter().map(|(name, text)| (name, text)).collect::<InlineTable>()));
        }
    }
    if server.sse {
        table.insert("transport", value("sse"));
    }
    if server.disabled {
        table.insert("enabled", value(false));
    }
    table
}

#[cfg(test)]
mod tests;
