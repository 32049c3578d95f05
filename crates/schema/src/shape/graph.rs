//! A schema as a graph: which subschemas judge the same value, and which judge its members.
//!
//! Knows where the dialects keep subschemas, so that a property *called* `$ref` is no reference. Keywords
//! of all supported dialects are read alike; too much is counted rather than too little. References are
//! resolved within the document (pointers, anchors, embedded `$id`s) and never beyond.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::dialect;
use crate::error::SchemaError;
use crate::limits::SchemaLimits;

/// Keywords whose subschemas judge the same value.
const IN_PLACE: [&str; 5] = ["not", "if", "then", "else", "$ref"];
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords whose subschema judges every member of an object that is there.
const EACH_MEMBER: [&str; 3] = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
const EACH_ITEM: [&str; 3] = ["additionalItems", "contains", "unevaluatedItems"];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// One subschema and the numbers of those that it applies.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) in_place: Vec<usize>,
    /// Alternatives of which at most one follows an object into its members.
    pub(super) exclusive: Vec<Vec<usize>>,
    pub(super) steps: Steps,
}

impl Node {
    /// All subschemas for the same value.
    pub(super) fn applied(&self) -> impl Iterator<Item = usize> {
        self.in_place.iter().chain(self.exclusive.iter().flatten()).copied()
    }
}

/// Picks the list of a node that subschemas go into.
type List = fn(&mut Node) -> &mut Vec<usize>;

/// The subschemas for the members of a value.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// At most one of these judges a given member: properties by name, tuple items by position.
    named: Vec<usize>,
    positional: Vec<usize>,
    each_member: Vec<usize>,
    each_item: Vec<usize>,
}

impl Steps {
    /// What one member of an object costs at most, when a subschema costs `of[subschema]`.
    pub(super) fn member(&self, of: &[u64]) -> u64 {
        most(&self.named, of).saturating_add(sum(&self.each_member, of))
    }

    /// What one item of an array costs at most.
    pub(super) fn item(&self, of: &[u64]) -> u64 {
        most(&self.positional, of).saturating_add(sum(&self.each_item, of))
    }
}

fn most(nodes: &[usize], of: &[u64]) -> u64 {
    nodes.iter().map(|&node| of[node]).max().unwrap_or(0)
}

fn sum(nodes: &[usize], of: &[u64]) -> u64 {
    nodes.iter().fold(0, |sum, &node| sum.saturating_add(of[node]))
}

/// All subschemas of a document; number 0 is the root.
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<Node>,
    limits: &'a SchemaLimits,
    patterns: usize,
    /// Subschemas by their address: a pointer may lead to one that is known already.
    known: HashMap<usize, usize>,
    open: Vec<Open<'a>>,
    references: Vec<Reference<'a>>,
    anchors: HashMap<&'a str, Vec<Place<'a>>>,
    resources: Vec<(&'a str, &'a Value)>,
}

/// A subschema and the resource (the part of the document below one `$id`) that it belongs to.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Value,
    resource: &'a Value,
}

struct Open<'a> {
    node: usize,
    place: Place<'a>,
}

struct Reference<'a> {
    from: usize,
    text: &'a str,
    resource: &'a Value,
}

impl<'a> Graph<'a> {
    pub(super) fn build(schema: &'a Value, limits: &'a SchemaLimits) -> Result<Self, SchemaError> {
        let mut graph = Self {
            nodes: Vec::new(),
            limits,
            patterns: 0,
            known: HashMap::new(),
            open: Vec::new(),
            references: Vec::new(),
            anchors: HashMap::new(),
            resources: Vec::new(),
        };
        graph.node(Place { schema, resource: schema })?;
        graph.walk()?;
        // A reference may lead to a place where no keyword keeps subschemas: walk what it finds.
        while let Some(reference) = graph.references.pop() {
            for place in graph.resolve(&reference)? {
                let target = graph.node(place)?;
                graph.nodes[reference.from].in_place.push(target);
            }
            graph.walk()?;
        }
        Ok(graph)
    }

    /// The number of a subschema, queued to be walked when it is seen for the first time.
    fn node(&mut self, place: Place<'a>) -> Result<usize, SchemaError> {
        let address = std::ptr::from_ref(place.schema).addr();
        if let Some(&known) = self.known.get(&address) {
            return Ok(known);
        }
        let node = self.nodes.len();
        if node >= self.limits.subschemas {
            return Err(SchemaError::too_large("subschemas", self.limits.subschemas));
        }
        self.nodes.push(Node::default());
        self.known.insert(address, node);
        self.open.push(Open { node, place });
        Ok(node)
    }

    fn walk(&mut self) -> Result<(), SchemaError> {
        while let Some(Open { node, place }) = self.open.pop() {
            let Value::Object(keywords) = place.schema else { continue };
            if let Some(dialect) = keywords.get("$schema").and_then(Value::as_str)
                && !dialect::is_bundled(dialect)
            {
                return Err(SchemaError::unsupported_dialect(dialect));
            }
            let resource = self.identify(keywords, place);
            for (keyword, value) in keywords {
                self.keyword((node, resource), keyword, value)?;
            }
        }
        Ok(())
    }

    /// Notes the names of a subschema and says which resource its keywords belong to.
    fn identify(&mut self, keywords: &'a Map<String, Value>, place: Place<'a>) -> &'a Value {
        let mut resource = place.resource;
        for name in ["$id", "id"] {
            let Some(id) = keywords.get(name).and_then(Value::as_str) else { continue };
            if let Some(anchor) = id.strip_prefix('#') {
                self.anchors.entry(anchor).or_default().push(place);
            } else {
                resource = place.schema;
                self.resources.push((id.trim_end_matches('#'), place.schema));
            }
        }
        for name in ["$anchor", "$dynamicAnchor"] {
            if let Some(anchor) = keywords.get(name).and_then(Value::as_str) {
                self.anchors.entry(anchor).or_default().push(Place { resource, ..place });
            }
        }
        resource
    }

    fn keyword(
        &mut self,
        (node, resource): (usize, &'a Value),
        keyword: &str,
        value: &'a Value,
    ) -> Result<(), SchemaError> {
        let (into, schemas): (List, Vec<&'a Value>) = match (keyword, value) {
            (_, Value::String(text)) if REFERENCES.contains(&keyword) => {
                self.references.push(Reference { from: node, text, resource });
                return Ok(());
            }
            ("pattern", Value::String(_)) => return self.patterns(1),
            (_, Value::Object(_) | Value::Bool(_)) if IN_PLACE.contains(&keyword) => {
                (|at| &mut at.in_place, vec![value])
            }
            (_, Value::Array(list)) if IN_PLACE_LISTS.contains(&keyword) => {
                let alternatives = self.subschemas(list, resource)?;
                if keyword != "allOf" && told_apart(list, resource) {
                    self.nodes[node].exclusive.push(alternatives);
                } else {
                    self.nodes[node].in_place.extend(alternatives);
                }
                return Ok(());
            }
            (_, Value::Object(map)) if IN_PLACE_MAPS.contains(&keyword) => {
                (|at| &mut at.in_place, map.values().filter(|schema| !schema.is_array()).collect())
            }
            ("properties", Value::Object(map)) => (|at| &mut at.steps.named, map.values().collect()),
            ("patternProperties", Value::Object(map)) => {
                self.patterns(map.len())?;
                (|at| &mut at.steps.each_member, map.values().collect())
            }
            ("prefixItems" | "items", Value::Array(list)) => {
                (|at| &mut at.steps.positional, list.iter().collect())
            }
            (_, Value::Object(_) | Value::Bool(_)) if EACH_MEMBER.contains(&keyword) => {
                (|at| &mut at.steps.each_member, vec![value])
            }
            (_, Value::Object(_) | Value::Bool(_)) if keyword == "items" || EACH_ITEM.contains(&keyword) => {
                (|at| &mut at.steps.each_item, vec![value])
            }
            (_, Value::Object(map)) if DEFINITIONS.contains(&keyword) => {
                return self.subschemas(map.values(), resource).map(drop);
            }
            _ => return Ok(()),
        };
        let found = self.subschemas(schemas, resource)?;
        into(&mut self.nodes[node]).extend(found);
        Ok(())
    }

    /// The numbers of several subschemas of one resource.
    fn subschemas(
        &mut self,
        schemas: impl IntoIterator<Item = &'a Value>,
        resource: &'a Value,
    ) -> Result<Vec<usize>, SchemaError> {
        schemas.into_iter().map(|schema| self.node(Place { schema, resource })).collect()
    }

    fn patterns(&mut self, more: usize) -> Result<(), SchemaError> {
        self.patterns += more;
        if self.patterns > self.limits.patterns {
            return Err(SchemaError::too_large("regular expressions", self.limits.patterns));
        }
        Ok(())
    }

    /// The subschemas that a reference may lead to; none for a meta-schema that needs no fetching.
    fn resolve(&self, reference: &Reference<'a>) -> Result<Vec<Place<'a>>, SchemaError> {
        let (document, fragment) = reference.text.split_once('#').unwrap_or((reference.text, ""));
        let resource = match document {
            "" => reference.resource,
            document => match self.resource(document) {
                Some(resource) => resource,
                None if dialect::is_bundled(document) => return Ok(Vec::new()),
                None => return Err(SchemaError::external_ref(reference.text)),
            },
        };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment).cloned().ok_or_else(|| dangling(reference.text));
        }
        percent_decode(fragment)
            .and_then(|pointer| resource.pointer(&pointer))
            .map(|schema| vec![Place { schema, resource }])
            .ok_or_else(|| dangling(reference.text))
    }

    /// An embedded resource by its `$id`, or by the last part of it, as a relative reference has it.
    fn resource(&self, document: &str) -> Option<&'a Value> {
        let ends_with = |id: &str| id.strip_suffix(document).is_some_and(|base| base.ends_with('/'));
        self.resources
            .iter()
            .find(|(id, _)| *id == document)
            .or_else(|| self.resources.iter().find(|(id, _)| ends_with(id)))
            .map(|(_, resource)| *resource)
    }
}

/// Whether each alternative requires the same member to be another constant string. The validator
/// library goes straight to the fitting one then, if there are three or more.
fn told_apart(alternatives: &[Value], resource: &Value) -> bool {
    if alternatives.len() < 3 {
        return false;
    }
    let constants: Option<Vec<HashMap<&str, &str>>> =
        alternatives.iter().map(|alternative| required_constants(alternative, resource)).collect();
    let Some(constants) = constants else { return false };
    let Some(first) = constants.first() else { return false };
    first.keys().any(|name| {
        let mut seen = HashSet::new();
        constants.iter().all(|of| of.get(name).is_some_and(|value| seen.insert(*value)))
    })
}

/// The members that a subschema requires to be one given string.
fn required_constants<'a>(mut schema: &'a Value, resource: &'a Value) -> Option<HashMap<&'a str, &'a str>> {
    for _ in 0..4 {
        let Some(pointer) =
            schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'))
        else {
            break;
        };
        schema = resource.pointer(pointer)?;
    }
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required")?.as_array()?;
    let constant = |property: &'a Value| match (property.get("const"), property.get("enum")) {
        (Some(Value::String(text)), _) => Some(text.as_str()),
        (None, Some(Value::Array(values))) if values.len() == 1 => values[0].as_str(),
        _ => None,
    };
    Some(
        required
            .iter()
            .filter_map(Value::as_str)
            .filter_map(|name| Some((name, constant(properties.get(name)?)?)))
            .collect(),
    )
}

fn dangling(reference: &str) -> SchemaError {
    SchemaError::invalid(&format!("$ref {reference} points to nothing in the schema"))
}

/// Decodes the `%XX` of a URI fragment; `None` where they are malformed.
fn percent_decode(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(high * 16 + low).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}
