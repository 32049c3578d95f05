//! The one expander of every text: variables, secrets, inputs and files become values.
//!
//! `${VAR}`, `${VAR:-default}` and `${env:VAR}` are variables of the environment; `${secret:name}`, `${input:id}` and
//! `${file:path}` say what they are; `$$` is a dollar. Editors have `${workspaceFolder}` and `${userHome}` as well. A
//! value is put in as it is, and never read for references again. What is not there is an error.

mod syntax;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};

use crate::inputs::Input;
use crate::origin::OriginKind;
use crate::places::Place;
use crate::secret::SecretString;
use crate::shown;
use crate::sources::Sources;
pub(crate) use syntax::{Piece, Reference, Said, Scope, parse};

/// The largest file that is put into a text, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unset {
    /// The reference as it is written, without its default.
    pub(crate) variable: String,
    pub(crate) message: String,
    pub(crate) hint: String,
}

/// Expands the texts of one file.
pub(crate) struct Expander<'a> {
    sources: &'a Sources,
    kind: OriginKind,
    /// Where the file is that the texts are in.
    place: &'a Place,
    /// The folder that is meant by `${workspaceFolder}`.
    project: &'a Path,
    /// The folder that paths begin in.
    base: &'a Path,
    inputs: &'a [Input],
    /// What was asked in this run already, by the name that it is kept under.
    answers: &'a RefCell<BTreeMap<String, SecretString>>,
    /// The values that were put in and must not be shown.
    pub(crate) used: RefCell<Vec<SecretString>>,
}

impl<'a> Expander<'a> {
    /// For the texts of this file.
    pub(crate) fn new(
        sources: &'a Sources,
        place: &'a Place,
        inputs: &'a [Input],
        answers: &'a RefCell<BTreeMap<String, SecretString>>,
    ) -> Self {
        let Place { kind, project, .. } = place;
        let base = place.base();
        Self { sources, kind: *kind, place, project, base, inputs, answers, used: RefCell::default() }
    }

    /// The text with values in the place of references.
    ///
    /// # Errors
    /// When something that it refers to is not there.
    pub(crate) fn expand(&self, text: &str) -> Result<String, Unset> {
        let pieces = syntax::parse(text, self.kind.is_literal()).map_err(|message| Unset {
            variable: text.to_owned(),
            message,
            hint: "write ${NAME}, or $$ for a dollar".to_owned(),
        })?;
        let mut expanded = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => expanded.push_str(literal),
                Piece::Reference(reference) => expanded.push_str(&self.value(&reference)?),
            }
        }
        Ok(expanded)
    }

    fn value(&self, reference: &Reference<'_>) -> Result<String, Unset> {
        let Reference { scope, name, default, .. } = reference;
        let found = match scope {
            Scope::Plain if self.folder(name).is_some() => return Ok(self.folder(name).unwrap_or_default()),
            Scope::Plain | Scope::Env => Ok(self.variable(name)),
            Scope::Secret => self.secret(name),
            Scope::File => self.file(name),
            Scope::Input => self.input(name),
            Scope::Unknown(scope) => Err((
                format!("`{scope}:` is not known here"),
                "the forms are ${NAME}, ${env:NAME}, ${input:ID}, ${secret:NAME} and ${file:PATH}".to_owned(),
            )),
        };
        let unset = |(message, hint)| Unset { variable: reference.written(), message, hint };
        match (found, default) {
            (Ok(Some(value)), None) => Ok(self.remember(reference, value)),
            // As in a shell, what is empty gives way to a default.
            (Ok(Some(value)), Some(_)) if !value.is_empty() => Ok(self.remember(reference, value)),
            (Ok(_), Some(default)) => self.expand(default),
            (Ok(None), None) => Err(unset(self.absent(scope, name))),
            (Err(why), _) => Err(unset(why)),
        }
    }

    fn remember(&self, reference: &Reference<'_>, value: String) -> String {
        let hidden = match reference.scope {
            Scope::Secret | Scope::File => true,
            Scope::Input => self.inputs.iter().any(|input| input.id == reference.name && input.password),
            // A folder may be seen, a token may not.
            _ => shown::is_secret(reference.name),
        };
        if hidden && !value.is_empty() {
            self.used.borrow_mut().push(SecretString::new(value.clone()));
        }
        value
    }

    /// What editors, and Claude Code, know without anybody setting it.
    fn folder(&self, name: &str) -> Option<String> {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        match (self.kind, name) {
            (OriginKind::VsCode | OriginKind::Cursor, _) => match name {
                "workspaceFolder" | "workspaceRoot" => Some(shown(self.project)),
                "workspaceFolderBasename" => {
                    Some(self.project.file_name().unwrap_or_default().to_string_lossy().into_owned())
                }
                "userHome" => self.sources.paths.home.as_deref().map(shown),
                "cwd" => Some(shown(&self.sources.directory)),
                "pathSeparator" | "/" => Some(MAIN_SEPARATOR_STR.to_owned()),
                _ => None,
            },
            (OriginKind::McpJson | OriginKind::ClaudeCode, "CLAUDE_PROJECT_DIR") => Some(shown(self.project)),
            _ => None,
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.sources.env)(name)
    }

    fn secret(&self, name: &str) -> Result<Option<String>, (String, String)> {
        let Some(secrets) = &self.sources.secrets else { return Ok(None) };
        let found = secrets.secret(name).map_err(|error| (error.to_string(), error.hint().to_owned()))?;
        Ok(found.map(|value| value.expose().to_owned()))
    }

    fn file(&self, path: &str) -> Result<Option<String>, (String, String)> {
        let path = self.path(path);
        let refused =
            |why: String| (format!("the file {} {why}", path.display()), "check the path".to_owned());
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(format!("cannot be read: {error}"))),
        };
        // A pipe or a device might never end.
        if !metadata.is_file() {
            return Err(refused("is no file".to_owned()));
        }
        if metadata.len() > MAX_FILE {
            return Err(refused(format!("is larger than {MAX_FILE} bytes")));
        }
        let text = fs::read_to_string(&path).map_err(|error| refused(format!("cannot be read: {error}")))?;
        // Editors end files with a line end that nobody means.
        let text = text.strip_suffix('\n').unwrap_or(&text);
        Ok(Some(text.strip_suffix('\r').unwrap_or(text).to_owned()))
    }

    /// A whole path; `~` is the home.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let path = match (path.strip_prefix("~/"), &self.sources.paths.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.base.join(path),
        };
        // Without `./` in the middle.
        path.components().collect()
    }

    fn input(&self, id: &str) -> Result<Option<String>, (String, String)> {
        let Some(input) = self.inputs.iter().find(|input| input.id == id) else {
            let known = self.inputs.iter().map(|input| input.id.as_str());
            let hint = match crate::nearest::nearest(id, known) {
                Some(meant) => format!("did you mean {meant}?"),
                None if self.kind == OriginKind::VsCode => {
                    "declare it in `inputs` of this file, as a promptString or a pickString".to_owned()
                }
                None => format!(
                    "only files of VS Code declare inputs; here write ${{secret:{id}}}, and run: switchboard secrets set \
                     {id}"
                ),
            };
            return Err((format!("no input is called {id:?}"), hint));
        };
        let name = input.secret_name(self.place, self.sources);
        let variable = input.variable();
        if let Some(value) = self.variable(&variable) {
            return Ok(Some(value));
        }
        if let Some(value) = self.answers.borrow().get(&name) {
            return Ok(Some(value.expose().to_owned()));
        }
        if let Some(value) = self.secret(&name)? {
            return Ok(Some(value));
        }
        if let Some(value) = self.sources.ask.as_ref().and_then(|ask| ask.ask(input)) {
            // It is asked again next time where it cannot be kept; that must not stop this run.
            let _ = self.sources.secrets.as_ref().map(|secrets| secrets.keep(&name, &value));
            let text = value.expose().to_owned();
            self.answers.borrow_mut().insert(name, value);
            return Ok(Some(text));
        }
        match &input.default {
            Some(default) if !input.password => Ok(Some(default.clone())),
            _ => Err((
                format!("the input {id:?} has no value, and nobody can be asked"),
                format!("run it on a terminal, set {variable}, or: switchboard secrets set {name}"),
            )),
        }
    }
}

impl Expander<'_> {
    /// What to say about something that is not there.
    fn absent(&self, scope: &Scope<'_>, name: &str) -> (String, String) {
        let unset = format!("the variable {name} is not set");
        match scope {
            Scope::Secret => {
                (format!("there is no secret {name:?}"), format!("run: switchboard secrets set {name}"))
            }
            Scope::File => (
                format!("there is no file {:?}", self.path(name)),
                "make it, or correct the path behind `file:`; one that is not whole begins at the folder of this file"
                    .to_owned(),
            ),
            Scope::Plain if is_folder(OriginKind::VsCode, name) || is_folder(OriginKind::McpJson, name) => {
                (unset, format!("other products know {name} in their own files; here write the path itself"))
            }
            _ => (unset, format!("set {name}, or give a default: ${{{name}:-…}}")),
        }
    }
}

/// Something that a text would be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The reference, without its default.
    pub(crate) written: String,
    /// The path, if it is a file.
    pub(crate) file: Option<String>,
    /// The name, if it is a variable of the environment.
    pub(crate) variable: Option<String>,
    /// Whether it is a secret, or an answer of the person.
    pub(crate) is_kept: bool,
}

/// Everything that a text refers to, in its defaults as well.
pub(crate) fn mentions(text: &str, kind: OriginKind) -> Vec<Mention> {
    let mut all = Vec::new();
    // What cannot be read is not put in, either.
    for piece in syntax::parse(text, kind.is_literal()).unwrap_or_default() {
        let Piece::Reference(reference) = piece else { continue };
        let is_variable = match reference.scope {
            Scope::Plain => !is_folder(kind, reference.name),
            scope => scope == Scope::Env,
        };
        all.push(Mention {
            written: reference.written(),
            variable: is_variable.then(|| reference.name.to_owned()),
            file: (reference.scope == Scope::File).then(|| reference.name.to_owned()),
            is_kept: matches!(reference.scope, Scope::Secret | Scope::Input),
        });
        all.extend(reference.default.into_iter().flat_map(|default| mentions(default, kind)));
    }
    all
}

/// Whether the product knows it without anybody setting it.
pub(crate) fn is_folder(kind: OriginKind, name: &str) -> bool {
    match kind {
        OriginKind::VsCode | OriginKind::Cursor => {
            let known = [
                "workspaceFolder",
                "workspaceRoot",
                "workspaceFolderBasename",
                "userHome",
                "cwd",
                "pathSeparator",
                "/",
            ];
            known.contains(&name)
        }
        OriginKind::McpJson | OriginKind::ClaudeCode => name == "CLAUDE_PROJECT_DIR",
        _ => false,
    }
}

/// A text of one product written for another: each reference as `say` says it, all else so that it is read as it was.
/// `from` and `to` are whether each is literal, as [`OriginKind::is_literal`] says. What cannot be read stays as it is.
pub(crate) fn rewritten(
    text: &str,
    (from, to): (bool, bool),
    say: &mut dyn FnMut(&Reference<'_>) -> Said,
) -> String {
    let Ok(pieces) = syntax::parse(text, from) else { return text.to_owned() };
    let mut parts: Vec<Said> = Vec::new();
    for piece in pieces {
        let part = match piece {
            Piece::Literal(literal) => Said::Literal(literal.to_owned()),
            Piece::Reference(reference) => say(&reference),
        };
        match (parts.last_mut(), part) {
            (Some(Said::Literal(before)), Said::Literal(more)) => before.push_str(&more),
            (_, part) => parts.push(part),
        }
    }
    syntax::written(parts, to)
}

#[cfg(test)]
mod tests;
