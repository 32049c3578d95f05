//! All servers in the shape of one product.

use serde_json::{Map, Value, json};

use crate::edit::{Edit, NewServer};
use crate::expand::{self, Piece, Reference, Said, Scope};
use crate::inputs::Input;
use crate::sources::Sources;
use crate::transfer::{Import, Imports, imports};

/// The shape of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `mcpServers`, as Claude Code, Claude Desktop and Cursor read it.
    Claude,
    /// `servers` and `inputs`.
    VsCode,
    /// `[mcp_servers.NAME]`.
    Codex,
    /// Our own.
    Toml,
}

/// A text to be written, and what could not be said in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exported {
    /// The text.
    pub text: String,
    /// What could not be said in it.
    pub notes: Vec<String>,
}

/// All servers, one a name, in the shape of a product. Values stay references: nothing secret
/// is put in that is not written in a file already.
#[must_use]
pub fn export(sources: &Sources, format: Format) -> Exported {
    let Imports { servers, untrusted, .. } = imports(sources, &[]);
    let mut notes: Vec<String> = Vec::new();
    let mut words = Words { format, inputs: Vec::new(), notes: &mut notes };
    let text = match format {
        Format::Toml => toml(&servers),
        Format::Codex => codex(&servers, &mut words),
        Format::Claude | Format::VsCode => json(&servers, &mut words),
    };
    for import in servers {
        notes.extend(import.notes.iter().map(|note| format!("{}: {note}", import.name)));
    }
    notes.extend(untrusted.into_iter().filter_map(|one| {
        Some(format!("{}: it comes with a project and is not trusted, so it is left out", one.server?))
    }));
    Exported { text, notes }
}

fn toml(servers: &[Import]) -> String {
    let mut edit = Edit::empty();
    for import in servers {
        // An empty file has no `servers` that could be something else.
        let _ = edit.set(&import.name, &import.server);
    }
    edit.text()
}

/// References in the words of a product.
struct Words<'a> {
    format: Format,
    inputs: Vec<Input>,
    notes: &'a mut Vec<String>,
}

impl Words<'_> {
    fn text(&mut self, server: &str, text: &str) -> String {
        let is_literal = self.format == Format::Codex;
        let said =
            expand::rewritten(text, (false, is_literal), &mut |reference| self.reference(server, reference));
        let doubled = if is_literal { "$${" } else { "$$" };
        if said.contains(doubled) {
            // The text may be a secret.
            let note = format!("{server}: there is a `$$` in it, which only Switchboard reads as one dollar");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        said
    }

    fn reference(&mut self, server: &str, reference: &Reference<'_>) -> Said {
        let Reference { name, default, scope, .. } = *reference;
        let whole = reference.whole();
        if default.is_some() && self.format == Format::VsCode {
            self.notes.push(format!("{server}: VS Code has no defaults, so {whole} lost its own"));
        }
        Said::Reference(match (self.format, scope) {
            (Format::VsCode, Scope::Plain | Scope::Env) => format!("${{env:{name}}}"),
            (Format::VsCode, Scope::Secret | Scope::Input) => {
                if self.inputs.iter().all(|input| input.id != name) {
                    let mut input = Input::new(name);
                    input.password = true;
                    self.inputs.push(input);
                }
                format!("${{input:{name}}}")
            }
            (Format::Claude, Scope::Plain | Scope::Env) if is_plain(name) => match default {
                Some(default) => format!("${{{name}:-{}}}", self.text(server, default)),
                None => format!("${{{name}}}"),
            },
            (Format::Claude, Scope::Secret | Scope::Input) => {
                let variable = Input::new(name).variable().replace("SWITCHBOARD_INPUT_", "");
                self.notes.push(format!("{server}: the secret {name} is the variable {variable} there"));
                format!("${{{variable}}}")
            }
            _ => {
                self.notes.push(format!("{server}: {whole} cannot be said there, and stays as it is"));
                let default = default.map(|default| format!(":-{}", self.text(server, default)));
                format!("${{{}{}}}", reference.head, default.unwrap_or_default())
            }
        })
    }

    fn pairs(&mut self, server: &str, pairs: &[(String, String)]) -> Value {
        pairs
            .iter()
            .map(|(name, text)| (name.clone(), self.text(server, text).into()))
            .collect::<Map<_, _>>()
            .into()
    }
}

fn json(servers: &[Import], words: &mut Words<'_>) -> String {
    let mut table = Map::new();
    for Import { name, server, .. } in servers {
        let mut entry = Map::new();
        let kind = match (&server.url, server.sse) {
            (None, _) => "stdio",
            (Some(_), false) => "http",
            (Some(_), true) => "sse",
        };
        entry.insert("type".to_owned(), kind.into());
        let texts = [("command", &server.command), ("url", &server.url), ("cwd", &server.cwd)];
        for (key, text) in texts.into_iter().chain([("envFile", &server.env_file)]) {
            if let Some(text) = text {
                entry.insert(key.to_owned(), words.text(name, text).into());
            }
        }
        if !server.args.is_empty() {
            entry.insert("args".to_owned(), server.args.iter().map(|arg| words.text(name, arg)).collect());
        }
        for (key, pairs) in [("env", &server.env), ("headers", &server.headers)] {
            if !pairs.is_empty() {
                entry.insert(key.to_owned(), words.pairs(name, pairs));
            }
        }
        if server.disabled {
            words.notes.push(format!("{name}: it is disabled here, and cannot be there"));
        }
        table.insert(name.clone(), entry.into());
    }
    let whole = match words.format {
        Format::VsCode => {
            let inputs = words.inputs.iter().map(|input| {
                json!({ "type": "promptString", "id": input.id, "description": input.description, "password": true })
            });
            json!({ "inputs": inputs.collect::<Vec<_>>(), "servers": table })
        }
        _ => json!({ "mcpServers": table }),
    };
    format!("{whole:#}\n")
}

/// Whether a variable can be named without saying that it is one.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.starts_with(char::is_numeric)
}

/// The only variable of a text, what stands before it, and whether it may be absent.
fn only_variable(text: &str) -> Option<(&str, &str, bool)> {
    let pieces = expand::parse(text, false).ok()?;
    let (before, reference) = match pieces.as_slice() {
        [Piece::Reference(reference)] => ("", reference),
        [Piece::Literal(before), Piece::Reference(reference)] => (*before, reference),
        _ => return None,
    };
    let is_variable = matches!(reference.scope, Scope::Plain | Scope::Env);
    match reference.default {
        None | Some("") if is_variable => Some((before, reference.name, reference.default.is_some())),
        _ => None,
    }
}

fn codex(servers: &[Import], words: &mut Words<'_>) -> String {
    let mut document = toml_edit::DocumentMut::new();
    let mut all = toml_edit::Table::new();
    all.set_implicit(true);
    for Import { name, server, .. } in servers {
        all.insert(name, toml_edit::Item::Table(codex_server(name, server, words)));
    }
    document.insert("mcp_servers", toml_edit::Item::Table(all));
    document.to_string()
}

fn codex_server(name: &str, server: &NewServer, words: &mut Words<'_>) -> toml_edit::Table {
    use toml_edit::{Array, InlineTable, Table, value};
    let mut table = Table::new();
    for (key, text) in [("command", &server.command), ("url", &server.url), ("cwd", &server.cwd)] {
        if let Some(text) = text {
            table.insert(key, value(words.text(name, text)));
        }
    }
    if !server.args.is_empty() {
        let args = server.args.iter().map(|arg| words.text(name, arg));
        table.insert("args", value(args.collect::<Array>()));
    }
    let (mut named, mut literal) = (Vec::new(), InlineTable::new());
    let (mut by_name, mut headers) = (InlineTable::new(), InlineTable::new());
    for (key, text) in &server.env {
        match only_variable(text) {
            Some(("", variable, _)) if variable == key => named.push(key.clone()),
            _ => drop(literal.insert(key, words.text(name, text).into())),
        }
    }
    for (key, text) in &server.headers {
        match only_variable(text) {
            Some(("", variable, false)) => drop(by_name.insert(key, variable.into())),
            Some(("Bearer ", variable, false)) if key.eq_ignore_ascii_case("authorization") => {
                table.insert("bearer_token_env_var", value(variable));
            }
            _ => drop(headers.insert(key, words.text(name, text).into())),
        }
    }
    if !named.is_empty() {
        table.insert("env_vars", value(named.into_iter().collect::<Array>()));
    }
    for (key, pairs) in [("env", literal), ("http_headers", headers), ("env_http_headers", by_name)] {
        if !pairs.is_empty() {
            table.insert(key, value(pairs));
        }
    }
    if server.env_file.is_some() {
        words.notes.push(format!("{name}: Codex reads no file with variables"));
    }
    if server.disabled {
        table.insert("enabled", value(false));
    }
    table
}
