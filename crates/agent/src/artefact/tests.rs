//! The host's own tools over texts of any shape: `tests/data/artefacts.json` says what they answer.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use proptest::prelude::{any, prop, proptest};
use proptest::{prop_assert, prop_assert_eq};
use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_protocol::model::content::ContentBlock;
use switchboard_protocol::model::resource::{ReadResourceResult, Resource, ResourceContents};
use switchboard_protocol::model::tool::CallToolResult;

use super::read::{Part, Range, WINDOW, part};
use super::search::Search;
use super::*;
use crate::integration::{Keeper, Returned};
use crate::limits::Limits;
use crate::outcome::{CallFailure, FailureKind, ToolOutcome};
use crate::store::MemoryStore;

fn artefacts() -> SessionArtefacts {
    SessionArtefacts::new(Arc::new(MemoryStore::default()), "session", Journal::new())
}

fn text(sink: &SessionArtefacts, text: &[u8]) -> ArtefactRecord {
    sink.keep(NewArtefact { kind: "text", bytes: text, ..NewArtefact::default() }).unwrap()
}

proptest! {
    #[test]
    fn ranges_one_after_the_other_give_the_whole_text(said in any::<String>(), length in 1_usize..9) {
        let sink = artefacts();
        let record = text(&sink, said.as_bytes());
        let (mut joined, mut offset) = (String::new(), 0);
        while offset < record.bytes {
            let Part { text, from, to } = part(&sink, &record, Range::Bytes { offset, length }).unwrap();
            prop_assert!(from == offset && to > from, "{from} {to}");
            prop_assert!(text.len() <= length.max(4));
            joined.push_str(&text);
            offset = to;
        }
        prop_assert_eq!(joined, said);
    }

    #[test]
    fn a_range_that_begins_inside_a_character_begins_at_the_next(said in "[aé漢🙂]{0,9}", offset in 0_u64..40) {
        let sink = artefacts();
        let record = text(&sink, said.as_bytes());
        let part = part(&sink, &record, Range::Bytes { offset, length: 100 }).unwrap();
        let start = (offset as usize..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(said.len());
        prop_assert_eq!(part.text, &said[start..]);
    }

    #[test]
    fn lines_are_those_of_the_text(lines in prop::collection::vec("[a-cé]{0,5}", 0..8), first in 1_u64..10, count in 1_u64..5) {
        let sink = artefacts();
        let said = lines.join("\n");
        let record = text(&sink, said.as_bytes());
        let range = Range::Lines { first, count, length: 1000 };
        let expected: String = said.split_inclusive('\n').skip(first as usize - 1).take(count as usize).collect();
        prop_assert_eq!(part(&sink, &record, range).unwrap().text, expected);
    }
}

/// A text of several windows, with something at every seam.
fn long() -> (String, Vec<usize>) {
    let mut said = String::new();
    let mut places = Vec::new();
    for window in 1..4 {
        let at = window * WINDOW - 3;
        while said.len() < at {
            said.push_str("some line of text, é\n");
        }
        places.push(said.len());
        said.push_str("NEEDLE");
    }
    said.push_str("\nthe end");
    (said, places)
}

#[test]
fn a_search_finds_each_match_once_wherever_it_lies() {
    let (said, places) = long();
    let sink = artefacts();
    let record = text(&sink, said.as_bytes());
    for (pattern, is_regex) in [("needle", false), ("n[e]+dle", true)] {
        let found = Search::new(pattern, is_regex, true).unwrap().run(&sink, &record).unwrap();
        let offsets: Vec<usize> = found.matches.iter().map(|hit| hit.offset as usize).collect();
        assert_eq!((offsets, found.more), (places.clone(), false), "{pattern}");
        for hit in &found.matches {
            let line = said[..hit.offset as usize].matches('\n').count() + 1;
            assert!(hit.line == line as u64 && hit.text.contains("NEEDLE"), "{hit:?}");
        }
    }
    let mut search = Search::new("needle", false, true).unwrap();
    (search.skip, search.most) = (1, 1);
    let found = search.run(&sink, &record).unwrap();
    assert_eq!((found.matches.len(), found.matches[0].offset as usize, found.more), (1, places[1], true));
    assert!(Search::new("needle", false, false).unwrap().run(&sink, &record).unwrap().matches.is_empty());
}

proptest! {
    #[test]
    fn a_plain_search_finds_what_the_text_holds(said in "[ab\n]{0,60}", pattern in "[ab]{1,3}") {
        let sink = artefacts();
        let record = text(&sink, said.as_bytes());
        let mut search = Search::new(&pattern, false, false).unwrap();
        search.most = 100;
        let found: Vec<usize> =
            search.run(&sink, &record).unwrap().matches.iter().map(|hit| hit.offset as usize).collect();
        let expected: Vec<usize> = said.match_indices(&pattern).map(|(at, _)| at).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_pattern_that_cannot_be_used_says_so() {
    for (pattern, why) in [
        ("", "empty"),
        ("(", "cannot be used"),
        ("a*", "matches everywhere"),
        (".{999}{999}", "cannot be used"),
    ] {
        let problem = Search::new(pattern, true, false).unwrap_err();
        assert!(problem.contains(why), "{pattern}: {problem}");
    }
}

/// A server that reads one address.
struct OneResource;

impl ResourceReader for OneResource {
    fn read<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, CallFailure>> {
        let contents = vec![ResourceContents::text(uri, format!("read from {server}"))];
        Box::pin(std::future::ready(match uri {
            "file:///x.txt" => Ok(ReadResourceResult { contents, ..ReadResourceResult::default() }),
            _ => Err(CallFailure::new(FailureKind::Protocol { code: -32002 }, "Resource not found")),
        }))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    what: String,
    tool: String,
    arguments: serde_json::Value,
    answer: String,
    #[serde(default)]
    failed: bool,
}

struct World {
    tools: HostTools,
    sink: SessionArtefacts,
}

impl World {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let sink = SessionArtefacts::new(Arc::clone(&store), "session", Journal::new());
        let keeper = Keeper::new(Arc::new(sink.clone()), Limits::default());
        Self { tools: HostTools::new(keeper), sink }
    }

    /// Keeps what the table speaks of, by the names that it uses.
    fn kept(&self) -> Vec<(&'static str, String)> {
        let server = ServerName::new("files").unwrap();
        let new = |kind, bytes| NewArtefact { kind, bytes, server: Some(&server), ..NewArtefact::default() };
        let keep = |new| self.sink.keep(new).unwrap().id;
        let other = SessionArtefacts { session: "another".into(), ..self.sink.clone() };
        let link = |uri| NewArtefact { uri: Some(uri), ..new("resource_link", b"{}") };
        vec![
            ("TEXT", keep(new("text", "one\ntwo é\nthree".as_bytes()))),
            ("AUDIO", keep(NewArtefact { mime_type: Some("audio/wav"), ..new("audio", b"RIFF") })),
            (
                "BLOB",
                keep(NewArtefact { mime_type: Some("application/zip"), ..new("resource", b"PK\x03\x00") }),
            ),
            ("IMAGE", keep(NewArtefact { mime_type: Some("image/png"), ..new("image", b"png") })),
            ("PRIVATE", keep(NewArtefact { audience: Some(Audience::Person), ..new("text", b"private") })),
            ("LINK", keep(link("file:///x.txt"))),
            ("GONE", keep(link("file:///gone"))),
            ("MASKED", keep(link("file:///x.txt?key=***"))),
            ("ELSEWHERE", other.keep(new("text", b"of another session")).unwrap().id),
        ]
    }

    async fn call(&self, tool: &str, arguments: String) -> Returned {
        let arguments = RawValue::from_string(arguments).unwrap();
        self.tools.call((CallId(1), tool), &arguments, &OneResource).await
    }
}

#[tokio::test]
async fn the_tools_of_the_host_answer_as_the_table_says() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../../tests/data/artefacts.json")).unwrap();
    let world = World::new().await;
    let ids = world.kept();
    let exposure = host_exposure(switchboard_llm::SchemaDialect::Generic);
    for case in cases {
        let what = &case.what;
        let mut arguments = case.arguments.to_string();
        for (name, id) in &ids {
            arguments = arguments.replace(&format!("\"{name}\""), &format!("\"{id}\""));
        }
        let tool = exposure.by_name(&model_name(&case.tool)).unwrap();
        assert!(tool.check(&serde_json::from_str(&arguments).unwrap()).is_ok(), "{what}");
        let returned = world.call(&case.tool, arguments).await;
        let message =
            returned.content.fit(100_000, &mut crate::integration::Pictures { taken: true, left: 1 });
        let mut answer = message.text;
        for (name, id) in &ids {
            answer = answer.replace(id.as_str(), name);
        }
        assert_eq!(answer, case.answer, "{what}");
        assert_eq!(message.failed, case.failed, "{what}");
    }
}

#[tokio::test]
async fn what_a_link_leads_to_is_kept_as_the_servers() {
    let world = World::new().await;
    let link = Resource { uri: "file:///x.txt".to_owned(), name: "x".to_owned(), ..Resource::default() };
    let result = CallToolResult::of(vec![ContentBlock::ResourceLink(Box::new(link))]);
    let keeper = Keeper::new(Arc::new(world.sink.clone()), Limits::default());
    let server = ServerName::new("files").unwrap();
    let returned = keeper.keep(ToolOutcome::Result(Box::new(result)), &server, CallId(1)).await;
    let id = &returned.artefacts()[0].id;
    let read = world.call(READ_RESOURCE, format!(r#"{{"id":"{id}"}}"#)).await;
    let record = &read.artefacts()[0];
    assert_eq!((record.server.as_deref(), record.kind.as_str()), (Some("files"), "resource"));
    assert_eq!(world.sink.bytes(&record.id, 0, 100).unwrap(), b"read from files");
}

#[test]
fn ids_are_unguessable_and_fit_everywhere() {
    let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| fresh_id().unwrap()).collect();
    assert_eq!(ids.len(), 1000);
    assert!(ids.iter().all(|id| id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())));
}

#[test]
fn the_tools_of_the_host_are_offered_in_every_dialect() {
    for dialect in switchboard_llm::SchemaDialect::ALL {
        let exposure = host_exposure(dialect);
        let names: Vec<&str> = exposure.tools().iter().map(crate::exposure::ExposedTool::name).collect();
        assert_eq!(
            names,
            ["switchboard__read_artefact", "switchboard__read_resource", "switchboard__search_artefact"],
            "{dialect}"
        );
    }
}

#[test]
fn no_server_is_called_as_the_host() {
    assert!(ServerName::new("switchboard").is_err());
    assert!(is_host_tool(&ServerName::host()));
    let read: ServerName = serde_json::from_str("\"switchboard\"").unwrap();
    assert_eq!(read, ServerName::host());
}
