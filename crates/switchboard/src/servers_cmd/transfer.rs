//! `servers import` and `export`: from and to the files of other products.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use switchboard_config::{Format, Import, Imports, Origin, OriginKind, Untrusted, export, imports};

use super::change::{failure, open};
use super::{PlaceArgs, View};
use crate::failure::Failure;
use crate::output;

/// Options of `servers import`.
#[derive(Args, Debug)]
pub(super) struct ImportArgs {
    /// A product (claude, vscode, cursor, codex), or a file of one
    #[arg(value_name = "PRODUCT or FILE")]
    from: String,

    /// Only show what would be written
    #[arg(long)]
    dry_run: bool,

    /// Write in the place of servers of the same name
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    place: PlaceArgs,
}

/// Options of `servers export`.
#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The product
    #[arg(long, value_name = "FORMAT")]
    format: Shape,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    /// mcpServers, as Claude Code, Claude Desktop and Cursor read it
    Claude,
    /// servers and inputs, as VS Code reads it
    Vscode,
    /// [mcp_servers.NAME], as Codex reads it
    Codex,
    /// Our own
    Toml,
}

/// What was imported, with `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    dry_run: bool,
    file: String,
    servers: Vec<ImportedServer>,
}

#[derive(Serialize)]
struct ImportedServer {
    name: String,
    change: &'static str,
    target: String,
    origin: Origin,
    notes: Vec<String>,
}

/// A server of a project, whose file somebody else may have written.
fn left_out(one: Untrusted) -> Option<ImportedServer> {
    let Untrusted { server, origin, shown: target, .. } = one;
    let name = server?;
    let note = format!(
        "look at it, then: switchboard servers trust {name}; or import the file itself: {}",
        origin.file.display()
    );
    Some(ImportedServer { name, change: "untrusted", target, origin, notes: vec![note] })
}

impl View<'_> {
    pub(super) fn import(&self, args: &ImportArgs) -> Result<(), Failure> {
        let mut sources = self.settings.sources()?.clone();
        let kinds: &[OriginKind] = match args.from.as_str() {
            "claude" => &[OriginKind::ClaudeCode, OriginKind::ClaudeDesktop, OriginKind::McpJson],
            "vscode" => &[OriginKind::VsCode],
            "cursor" => &[OriginKind::Cursor],
            "codex" => &[OriginKind::Codex],
            file => {
                sources.explicit = Some(PathBuf::from(file));
                sources.only_explicit = true;
                &[]
            }
        };
        let Imports { servers: found, untrusted, problems, looked_for, .. } = imports(&sources, kinds);
        if let Some(problem) =
            problems.iter().find(|problem| problem.server.is_none() && sources.only_explicit)
        {
            let hint = "name a file, or one of claude, vscode, cursor and codex";
            return Err(Failure::usage(problem.to_string(), hint));
        }
        let mut edit = open(&args.place, self)?;
        let mut servers = Vec::new();
        for Import { name, origin, shown, server, notes, .. } in found {
            let change = match (edit.reaches(&name), args.replace) {
                (true, false) => "kept",
                (true, true) => "replaced",
                (false, _) => "added",
            };
            if change != "kept" {
                edit.set(&name, &server).map_err(|error| failure(&error))?;
            }
            servers.push(ImportedServer { name, change, target: shown, origin, notes });
        }
        let has_changed = servers.iter().any(|server| server.change != "kept");
        servers.extend(untrusted.into_iter().filter_map(left_out));
        if has_changed && !args.dry_run {
            edit.save().map_err(|error| failure(&error))?;
        }
        let file = edit.file().display().to_string();
        if servers.is_empty() && !self.json {
            looked_for.iter().for_each(|file| self.screen.note(&format!("looked for {}", file.display())));
            self.screen.hint("name a file of another place with: switchboard servers import FILE");
        }
        self.imported(&Imported { dry_run: args.dry_run, file, servers })
    }

    fn imported(&self, imported: &Imported) -> Result<(), Failure> {
        if self.json {
            return output::json(imported);
        }
        let Imported { dry_run, file, servers } = imported;
        let mut lines = Vec::new();
        for ImportedServer { name, change, target, origin, notes } in servers {
            let change = match (*change, dry_run) {
                ("kept", _) => "is there already",
                ("untrusted", _) => "comes with the project and is not trusted, so it is left out",
                ("replaced", true) => "would be replaced",
                ("replaced", false) => "replaced",
                (_, true) => "would be added",
                (_, false) => "added",
            };
            lines.push(format!("{name} {change}: {target} (from {origin})"));
            for note in notes {
                self.screen.note(&format!("{name}: {note}"));
            }
        }
        if lines.is_empty() {
            lines.push("no servers were found there".to_owned());
        } else {
            self.screen.note(&format!("the file is {file}"));
        }
        if !dry_run && servers.iter().any(|server| matches!(server.change, "added" | "replaced")) {
            self.screen.hint("see how they are with: switchboard servers status");
        }
        output::text(&lines.join("\n"))
    }

    pub(super) fn export(&self, args: &ExportArgs) -> Result<(), Failure> {
        let format = match args.format {
            Shape::Claude => Format::Claude,
            Shape::Vscode => Format::VsCode,
            Shape::Codex => Format::Codex,
            Shape::Toml => Format::Toml,
        };
        let exported = export(self.settings.sources()?, format);
        for note in &exported.notes {
            self.screen.warning(note);
        }
        output::whole_text(&exported.text)
    }
}
