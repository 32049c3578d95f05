//! The host's own tools: read a part of an artefact, search it, read what a server linked to.
//!
//! They are offered once there is something to read, always allowed, and made inside the host. They take handles, never
//! an address: a link is read through the server that gave it, and nothing of another session is seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_llm::SchemaDialect;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::resource::ReadResourceResult;
use switchboard_protocol::model::tool::CallToolResult;

use super::ArtefactSink;
use super::read::{Part, Range, part};
use super::search::{Found, Search};
use crate::exposure::{Declared, Exposure, ExposureOptions, exposed_name};
use crate::integration::{Keeper, Returned};
use crate::journal::MASK;
use crate::name::{CallId, HOST_SERVER, ServerName};
use crate::outcome::{CallFailure, ToolOutcome};
use crate::store::{ArtefactRecord, Audience, StoreError};
use crate::visible;

pub(crate) const READ_ARTEFACT: &str = "read_artefact";
pub(crate) const SEARCH_ARTEFACT: &str = "search_artefact";
pub(crate) const READ_RESOURCE: &str = "read_resource";

/// Why they are always allowed: they read what the run was given already, and reach nothing but a link of a server.
pub(crate) const ALLOWED_BY: &str = "the host, whose own tool it is";

/// Bytes of a range, if the model does not say how many.
const USUAL_LENGTH: usize = 16 * 1024;

/// What is left of a result's budget for the line above a range.
const LINE_BYTES: usize = 512;

const TOOLS: &str = include_str!("tools.json");

/// The name that a model uses for a tool of the host.
pub(crate) fn model_name(tool: &str) -> String {
    exposed_name(HOST_SERVER, tool)
}

/// The host's own tools, compiled for a model.
#[must_use]
pub fn host_exposure(dialect: SchemaDialect) -> Arc<Exposure> {
    static EXPOSURES: Mutex<BTreeMap<SchemaDialect, Arc<Exposure>>> = Mutex::new(BTreeMap::new());
    let mut exposures = EXPOSURES.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || {
        let declared =
            Declared { tools: serde_json::from_str(TOOLS).unwrap_or_default(), invalid: Vec::new() };
        let options = ExposureOptions { dialect, ..ExposureOptions::default() };
        Arc::new(Exposure::compile_for([(ServerName::host(), declared)], &options))
    };
    Arc::clone(exposures.entry(dialect).or_insert_with(compile))
}

/// Whether it is a tool of the host itself.
#[must_use]
pub fn is_host_tool(server: &ServerName) -> bool {
    server.as_str() == HOST_SERVER
}

/// Reads a resource through the server that gave the link.
pub trait ResourceReader: Send + Sync {
    /// Reads it. Dropping the future cancels it.
    fn read<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, CallFailure>>;
}

/// Makes the calls of the host's own tools.
#[derive(Clone, Debug)]
pub struct HostTools {
    keeper: Keeper,
}

#[derive(Deserialize)]
struct ReadArguments {
    id: String,
    #[serde(default)]
    offset: u64,
    length: Option<usize>,
    line: Option<u64>,
    lines: Option<u64>,
}

#[derive(Deserialize)]
struct SearchArguments {
    id: String,
    pattern: String,
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    context: Option<usize>,
    limit: Option<usize>,
    #[serde(default)]
    skip: usize,
}

#[derive(Deserialize)]
struct LinkArguments {
    id: String,
}

impl HostTools {
    /// Tools over what `keeper` keeps.
    #[must_use]
    pub fn new(keeper: Keeper) -> Self {
        Self { keeper }
    }

    /// Makes one call. The arguments have been checked against the tool's schema.
    pub async fn call(
        &self,
        (call, tool): (CallId, &str),
        arguments: &RawValue,
        resources: &dyn ResourceReader,
    ) -> Returned {
        let said = match tool {
            READ_RESOURCE => match parsed(arguments) {
                Ok(LinkArguments { id }) => return self.read_resource(call, &id, resources).await,
                Err(problem) => Err(problem),
            },
            READ_ARTEFACT => self.blocking(arguments, read).await,
            SEARCH_ARTEFACT => self.blocking(arguments, search).await,
            _ => Err(format!("the host has no tool {}", visible::quoted(tool, 100))),
        };
        Returned::from(ToolOutcome::Result(Box::new(match said {
            Ok(block) => CallToolResult::of(vec![block]),
            Err(problem) => CallToolResult::error(problem),
        })))
    }

    async fn blocking<A: for<'de> Deserialize<'de> + Send + 'static>(
        &self,
        arguments: &RawValue,
        work: fn(&Keeper, &A) -> Result<ContentBlock, String>,
    ) -> Result<ContentBlock, String> {
        let (keeper, arguments) = (self.keeper.clone(), parsed(arguments)?);
        let done = tokio::task::spawn_blocking(move || work(&keeper, &arguments));
        done.await.unwrap_or_else(|_| Err("it could not be read".to_owned()))
    }

    async fn read_resource(&self, call: CallId, id: &str, resources: &dyn ResourceReader) -> Returned {
        let found = known(self.keeper.sink(), id);
        let target = found.and_then(|record| match (record.kind.as_str(), &record.server, &record.uri) {
            // It is read by its address.
            ("resource_link", _, Some(uri)) if uri.contains(MASK) => {
                Err("the address of the link held a secret that is not kept, so it cannot be read".to_owned())
            }
            ("resource_link", Some(server), Some(uri)) => {
                ServerName::new(server).map(|server| (server, uri.clone())).map_err(|error| error.to_string())
            }
            _ => Err(format!("{} is no link to a resource", visible::quoted(id, 100))),
        });
        match target {
            Ok((server, uri)) => {
                let outcome = match resources.read(&server, &uri).await {
                    Ok(read) => {
                        let blocks = read.contents.into_iter().map(ContentBlock::resource).collect();
                        ToolOutcome::Result(Box::new(CallToolResult::of(blocks)))
                    }
                    Err(failure) => ToolOutcome::Failed(failure),
                };
                self.keeper.keep(outcome, &server, call).await
            }
            Err(problem) => Returned::from(ToolOutcome::Result(Box::new(CallToolResult::error(problem)))),
        }
    }
}

fn parsed<A: for<'de> Deserialize<'de>>(arguments: &RawValue) -> Result<A, String> {
    serde_json::from_str(arguments.get()).map_err(|error| error.to_string())
}

/// An artefact of this session that is not meant for the person only.
fn known(sink: &dyn ArtefactSink, id: &str) -> Result<ArtefactRecord, String> {
    let unknown = || format!("there is no artefact {}", visible::quoted(id, 100));
    let record = sink.record(id).map_err(|error| lost(&error))?.ok_or_else(unknown)?;
    if record.audience == Some(Audience::Person) { Err(unknown()) } else { Ok(record) }
}

fn lost(error: &StoreError) -> String {
    format!("it cannot be read: {error}")
}

fn read(keeper: &Keeper, arguments: &ReadArguments) -> Result<ContentBlock, String> {
    let (sink, limits) = (keeper.sink(), keeper.limits());
    let record = known(sink, &arguments.id)?;
    if record.kind == "image" && record.bytes <= limits.image_bytes as u64 {
        let bytes = sink.bytes(&record.id, 0, limits.image_bytes).map_err(|error| lost(&error))?;
        return Ok(ContentBlock::image(STANDARD.encode(bytes), record.mime_type.unwrap_or_default()));
    }
    text_only(sink, &record)?;
    let most = limits.result_bytes.saturating_sub(LINE_BYTES).max(1);
    let length = arguments.length.unwrap_or(USUAL_LENGTH).clamp(1, most);
    let range = match arguments.line {
        Some(first) => {
            let length = arguments.length.unwrap_or(most).clamp(1, most);
            Range::Lines { first, count: arguments.lines.unwrap_or(u64::MAX), length }
        }
        None => Range::Bytes { offset: arguments.offset, length },
    };
    let part = part(sink, &record, range).map_err(|error| lost(&error))?;
    Ok(ContentBlock::text(shown(&record, &part)))
}

fn shown(record: &ArtefactRecord, part: &Part) -> String {
    let next = if part.to < record.bytes {
        format!("go on with offset {}", part.to)
    } else {
        "that is its end".to_owned()
    };
    let Part { text, from, to } = part;
    format!("[{}: bytes {from} to {to} of {}; {next}]\n{text}", record.id, record.bytes)
}

fn search(keeper: &Keeper, arguments: &SearchArguments) -> Result<ContentBlock, String> {
    let (sink, limits) = (keeper.sink(), keeper.limits());
    let record = known(sink, &arguments.id)?;
    text_only(sink, &record)?;
    let mut search = Search::new(&arguments.pattern, arguments.regex, arguments.ignore_case)?;
    search.skip = arguments.skip;
    search.most = arguments.limit.unwrap_or(search.most).clamp(1, 100);
    search.context = arguments.context.unwrap_or(search.context).min(1000);
    search.bytes = search.bytes.min(limits.result_bytes / 2);
    let found = search.run(sink, &record).map_err(|error| lost(&error))?;
    Ok(ContentBlock::text(listed(&record, arguments, &found)))
}

fn listed(record: &ArtefactRecord, arguments: &SearchArguments, found: &Found) -> String {
    let Found { matches, more } = found;
    if matches.is_empty() {
        let other = if arguments.skip == 0 { "no match" } else { "no further match" };
        return format!("[{}: {other} in {} bytes]", record.id, record.bytes);
    }
    let more = if *more {
        format!("; there are more: go on with skip {}", arguments.skip + matches.len())
    } else {
        String::new()
    };
    let mut lines = vec![format!("[{}: matches {}{more}]", record.id, matches.len())];
    lines.extend(matches.iter().map(|hit| format!("[byte {}, line {}]\n{}", hit.offset, hit.line, hit.text)));
    lines.join("\n")
}

/// Refuses what is no text.
fn text_only(sink: &dyn ArtefactSink, record: &ArtefactRecord) -> Result<(), String> {
    const LOOKED_AT: usize = 4096;
    let mime = visible::line(record.mime_type.as_deref().unwrap_or("no type given"));
    let binary = || format!("{} is no text: {}, {mime}, {} bytes", record.id, record.kind, record.bytes);
    match record.kind.as_str() {
        "image" | "audio" => return Err(binary()),
        "resource_link" => {
            return Err(format!("{} is a link: read it with {}", record.id, model_name(READ_RESOURCE)));
        }
        _ => {}
    }
    let start = sink.bytes(&record.id, 0, LOOKED_AT).map_err(|error| lost(&error))?;
    let torn = start.len() == LOOKED_AT;
    let is_text = match std::str::from_utf8(&start) {
        Ok(_) => true,
        // The last character may be torn by the end of what was looked at.
        Err(error) => torn && error.error_len().is_none(),
    };
    if is_text && !start.contains(&0) { Ok(()) } else { Err(binary()) }
}
