//! The document says what the routes are, and its examples are as it says.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use axum::routing::MethodRouter;
use serde_json::{Value, json};
use switchboard_agent::host::{ModelChoice, OneModel};
use switchboard_agent::store::{MemoryStore, Store};
use switchboard_agent::supervisor::{Supervisor, SupervisorOptions};
use switchboard_agent::{Host, Router as WordRouter};
use tower::ServiceExt as _;

use super::DOCUMENT;
use crate::cookie::Cookies;
use crate::guard::Guard;
use crate::{App, closed_routes, open_routes};

fn document() -> Value {
    serde_json::from_str(DOCUMENT).unwrap()
}

/// The methods of each route, as its own answer to a method that it has not says them.
async fn methods<S: Clone + Send + Sync + 'static>(
    routes: Vec<(&'static str, MethodRouter<S>)>,
    state: S,
) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (path, methods) in routes {
        let router: Router = Router::new().route(path, methods).with_state(state.clone());
        let filled = path.replace(['{', '}'], "");
        let request = Request::builder().method("TRACE").uri(filled).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        let allowed = response.headers()[header::ALLOW].to_str().unwrap().to_lowercase();
        let own = allowed.split(',').filter(|method| *method != "head");
        found.extend(own.map(|method| (path.to_owned(), method.to_owned())));
    }
    found
}

#[tokio::test]
async fn the_document_has_every_route_and_no_other() {
    let supervisor = Supervisor::new(SupervisorOptions::default());
    let host = Host::builder(OneModel(ModelChoice::other(WordRouter::new()))).build();
    let app: Arc<App> = App::new(host, supervisor);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let cookies = Cookies::kept(&store, "a-token-for-tests").unwrap();
    let guard = Guard::new(("a-token-for-tests", cookies), ([127, 0, 0, 1], 1).into(), (&[], false));
    let mut routed = methods(open_routes(), guard).await;
    routed.extend(methods(closed_routes(), app).await);
    let document = document();
    let written: BTreeSet<_> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
        })
        .collect();
    assert_eq!(written, routed);
}

/// Every object in the document that has this member.
fn having<'a>(value: &'a Value, member: &str, found: &mut Vec<&'a Value>) {
    if value.get(member).is_some() {
        found.push(value);
    }
    match value {
        Value::Object(object) => object.values().for_each(|value| having(value, member, found)),
        Value::Array(array) => array.iter().for_each(|value| having(value, member, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_example_fits_its_schema() {
    let document = document();
    let mut references = Vec::new();
    having(&document, "$ref", &mut references);
    for reference in &references {
        let pointer = reference["$ref"].as_str().unwrap().strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let mut examples = Vec::new();
    having(&document, "example", &mut examples);
    assert!(examples.len() > 10);
    for place in examples {
        let schema = json!({ "allOf": [place["schema"]], "components": document["components"] });
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let problems: Vec<_> =
            validator.iter_errors(&place["example"]).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?} in {}", place["example"]);
    }
}

#[test]
fn operations_have_names_of_their_own() {
    let document = document();
    let mut operations = Vec::new();
    having(&document, "operationId", &mut operations);
    let names: BTreeSet<_> = operations.iter().map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(names.len(), operations.len());
}
