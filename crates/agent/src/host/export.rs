//! A session as a file: whole as JSON, or as a transcript in Markdown.

use std::collections::VecDeque;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Host, PAGE};
use crate::error::{AgentError, ErrorKind};
use crate::journal::{Authorization, Event, Integration, Invocation, ResultEvent, RunEvent, Selection};
use crate::store::{ArtefactRecord, SessionRecord};
use crate::visible;

/// The form of the JSON.
const VERSION: u32 = 1;
/// Bytes of an artefact that are read at a time; a multiple of three, so that base64 can be joined.
const CHUNK: usize = 3 * 64 * 1024;
/// Bytes of a result that a transcript shows.
const SHOWN_BYTES: usize = 8 * 1024;

/// What a session is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportForm {
    /// Whole, as one JSON object: its runs, its journal and its artefacts.
    Json,
    /// What was said and done, as Markdown, for people.
    Markdown,
}

/// A session on its way into a file, piece by piece. No more than a piece of it is in memory at a time. Each reads the
/// disk.
#[derive(Debug)]
pub struct Export {
    host: Host,
    session: SessionRecord,
    form: ExportForm,
    at: At,
}

/// Where an export is.
#[derive(Debug)]
enum At {
    Head,
    /// In the journal, after this entry.
    Journal(u64),
    /// Before the first of these artefacts; before the comma where one went ahead of it.
    Artefacts(VecDeque<ArtefactRecord>, bool),
    /// In the bytes of the first of these.
    Bytes(VecDeque<ArtefactRecord>, u64),
    End,
}

impl Host {
    /// Writes a session as [`ExportForm::Json`].
    ///
    /// # Errors
    /// When there is no such session, the disk cannot be read, or `out` not be written.
    pub fn export(&self, id: &str, out: &mut dyn Write) -> Result<(), AgentError> {
        self.pieces(id, ExportForm::Json)?.try_for_each(|piece| write(out.write_all(&piece?)))
    }

    /// Writes a session as [`ExportForm::Markdown`].
    ///
    /// # Errors
    /// As [`export`](Self::export).
    pub fn transcript(&self, id: &str, out: &mut dyn Write) -> Result<(), AgentError> {
        self.pieces(id, ExportForm::Markdown)?.try_for_each(|piece| write(out.write_all(&piece?)))
    }

    /// A session in pieces, for whoever takes them as they come.
    ///
    /// # Errors
    /// When there is no such session, or the disk cannot be read.
    pub fn pieces(&self, id: &str, form: ExportForm) -> Result<Export, AgentError> {
        Ok(Export { session: self.record(id)?, host: self.clone(), form, at: At::Head })
    }
}

impl Iterator for Export {
    type Item = Result<Vec<u8>, AgentError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut piece = Vec::new();
        let made = match std::mem::replace(&mut self.at, At::End) {
            At::Head => self.head(&mut piece),
            At::Journal(after) => self.journal(after, &mut piece),
            At::Artefacts(left, comma) => self.artefact(left, comma, &mut piece),
            At::Bytes(left, offset) => self.bytes(left, offset, &mut piece),
            At::End => return None,
        };
        // After what went wrong nothing more comes: `at` is the end.
        Some(made.map(|at| {
            self.at = at;
            piece
        }))
    }
}

impl Export {
    fn head(&self, out: &mut Vec<u8>) -> Result<At, AgentError> {
        write(match self.form {
            ExportForm::Markdown => writeln!(out, "# {}\n", visible::line(&self.session.title)),
            ExportForm::Json => {
                let runs = json!(self.host.store().runs(&self.session.id)?);
                let session = json!(self.session);
                write!(out, "{{\"version\":{VERSION},\"session\":{session},\"runs\":{runs},\"journal\":[")
            }
        })?;
        Ok(At::Journal(0))
    }

    fn journal(&self, after: u64, out: &mut Vec<u8>) -> Result<At, AgentError> {
        let entries = self.host.store().entries(&self.session.id, after, PAGE)?;
        for (index, entry) in entries.iter().enumerate() {
            write(match self.form {
                ExportForm::Markdown => paragraph(&entry.event, out),
                ExportForm::Json => {
                    if after > 0 || index > 0 {
                        out.push(b',');
                    }
                    serde_json::to_writer(&mut *out, entry).map_err(io::Error::from)
                }
            })?;
        }
        match (entries.last(), self.form) {
            (Some(last), _) => Ok(At::Journal(last.seq)),
            (None, ExportForm::Markdown) => Ok(At::End),
            (None, ExportForm::Json) => {
                out.extend_from_slice(b"],\"artefacts\":[");
                Ok(At::Artefacts(self.host.store().artefacts(&self.session.id)?.into(), false))
            }
        }
    }

    fn artefact(
        &self,
        left: VecDeque<ArtefactRecord>,
        comma: bool,
        out: &mut Vec<u8>,
    ) -> Result<At, AgentError> {
        let Some(artefact) = left.front() else {
            out.extend_from_slice(b"]}\n");
            return Ok(At::End);
        };
        let comma = if comma { "," } else { "" };
        write(write!(out, "{comma}{{\"artefact\":{},\"data\":\"", json!(artefact)))?;
        Ok(At::Bytes(left, 0))
    }

    fn bytes(
        &self,
        mut left: VecDeque<ArtefactRecord>,
        offset: u64,
        out: &mut Vec<u8>,
    ) -> Result<At, AgentError> {
        let Some(artefact) = left.front() else { return Ok(At::End) };
        let bytes = self.host.store().artefact_bytes(&artefact.id, offset, CHUNK)?;
        if bytes.is_empty() {
            out.extend_from_slice(b"\"}");
            left.pop_front();
            return Ok(At::Artefacts(left, true));
        }
        out.extend_from_slice(STANDARD.encode(&bytes).as_bytes());
        Ok(At::Bytes(left, offset + bytes.len() as u64))
    }
}

fn paragraph(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    match event {
        Event::Run(RunEvent::Begun { question }) => writeln!(out, "## {}\n", visible::text(question)),
        Event::Run(RunEvent::Ended { error: Some(error), .. }) => {
            writeln!(out, "**No answer:** {}\n", visible::text(error))
        }
        Event::Invocation(Invocation::Started { call, server, tool, arguments }) => {
            writeln!(out, "**{call} {server}/{}**\n", visible::name(tool))?;
            fenced(out, "json", &pretty(arguments))
        }
        Event::Authorization(Authorization::Denied { call, reason, .. }) => {
            writeln!(out, "**{call}** not made: {}\n", visible::line(reason))
        }
        Event::Result { outcome: ResultEvent::Failed { kind, message, .. }, call, .. } => {
            writeln!(out, "**{call}** {kind}: {}\n", visible::line(message))
        }
        Event::Integration(Integration::Added { text, .. }) => fenced(out, "", text),
        Event::Integration(Integration::Finished { text, .. }) => writeln!(out, "{}\n", visible::text(text)),
        Event::Selection(Selection::Note { text }) => writeln!(out, "> {}\n", visible::line(text)),
        _ => Ok(()),
    }
}

/// A block that its text cannot end.
fn fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    let shown = visible::head(text, SHOWN_BYTES);
    let ticks = shown.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(ticks.max(2) + 1);
    writeln!(out, "{fence}{language}\n{}\n{fence}", visible::text(shown))?;
    if shown.len() < text.len() {
        writeln!(out, "({} bytes more)", text.len() - shown.len())?;
    }
    writeln!(out)
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn write(written: io::Result<()>) -> Result<(), AgentError> {
    written.map_err(|error| {
        AgentError::new(ErrorKind::Storage, format!("the export cannot be written: {error}"))
    })
}
