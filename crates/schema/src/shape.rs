//! Measures a schema before it is compiled.
//!
//! A few hundred bytes of schema can ask for years of work: branches that double at each level, chains
//! of references, a reference to itself. This module walks a schema as a graph of subschemas, applies
//! the [`SchemaLimits`], refuses references that leave the document, and computes how the work grows
//! with the depth of a value, so that `validator.rs` can bound it. It judges no value.
//!
//! Where to look next: `shape/graph.rs` builds the graph.

mod graph;

use serde_json::Value;

use crate::error::SchemaError;
use crate::limits::SchemaLimits;
use graph::{Graph, Node};

/// Nested evaluations that fit on the stack of a worker thread (2 MiB), with room for the caller.
const NESTED_EVALUATIONS: usize = 1024;

/// What the validator needs to know about the cost of a schema.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    /// Deepest value that may be checked.
    pub(crate) instance_depth: usize,
    /// The work of deciding whether a value fits.
    pub(crate) decide: Growth,
    /// The work of naming all that is wrong: every alternative is followed then.
    pub(crate) explain: Growth,
}

/// How the work grows with the depth of a value: the number at `k` bounds the evaluations that one
/// member `k` levels below the root may cost.
#[derive(Debug, Clone)]
pub(crate) struct Growth(Vec<u64>);

impl Growth {
    /// Evaluations that one member at `depth` may cost at most.
    pub(crate) fn at(&self, depth: usize) -> u64 {
        self.0.get(depth).or_else(|| self.0.last()).copied().unwrap_or(0)
    }
}

impl Shape {
    /// Measures `schema`, whose dialect is known to be supported.
    pub(crate) fn measure(schema: &Value, limits: &SchemaLimits) -> Result<Self, SchemaError> {
        check_document(schema, limits)?;
        let graph = Graph::build(schema, limits)?;
        let order = in_place_order(&graph.nodes)?;
        let longest = longest_in_place(&graph.nodes, &order);
        if longest > limits.depth {
            return Err(SchemaError::too_large("subschemas applied to one value in a chain", limits.depth));
        }
        let instance_depth = limits.instance_depth.min(NESTED_EVALUATIONS / longest.max(1));
        let decide = growth(&graph.nodes, &order, (instance_depth, limits.steps), Alternatives::Dispatched);
        if decide.at(0) > limits.steps {
            let limit = usize::try_from(limits.steps).unwrap_or(usize::MAX);
            return Err(SchemaError::too_large("evaluations of one value", limit));
        }
        let explain = growth(&graph.nodes, &order, (instance_depth, limits.explain_steps), Alternatives::All);
        Ok(Self { instance_depth, decide, explain })
    }
}

/// Bytes and nesting of the document as JSON, whatever it means.
fn check_document(schema: &Value, limits: &SchemaLimits) -> Result<(), SchemaError> {
    let mut bytes = 0usize;
    let mut open = vec![(schema, 1usize)];
    while let Some((value, depth)) = open.pop() {
        if depth > limits.depth {
            return Err(SchemaError::too_large("levels of nesting", limits.depth));
        }
        bytes = bytes.saturating_add(match value {
            Value::Object(members) => {
                open.extend(members.values().map(|member| (member, depth + 1)));
                2 + members.keys().map(|name| name.len() + 4).sum::<usize>()
            }
            Value::Array(items) => {
                open.extend(items.iter().map(|item| (item, depth + 1)));
                2 + items.len()
            }
            Value::String(text) => text.len() + 2,
            Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        });
        if bytes > limits.bytes {
            return Err(SchemaError::too_large("bytes", limits.bytes));
        }
    }
    Ok(())
}

/// Orders the nodes so that each comes after all that it applies to the same value. A node that reaches
/// itself without a step into the value would never end and is refused.
fn in_place_order(nodes: &[Node]) -> Result<Vec<usize>, SchemaError> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let mut marks = vec![Mark::New; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        let mut path = vec![(start, 0usize)];
        while let Some((node, next)) = path.last_mut() {
            let Some(child) = nodes[*node].applied().nth(*next) else {
                marks[*node] = Mark::Done;
                order.push(*node);
                path.pop();
                continue;
            };
            *next += 1;
            match marks[child] {
                Mark::Done => {}
                Mark::Open => {
                    return Err(SchemaError::invalid(
                        "a subschema refers to itself without descending into the value, so checking never ends",
                    ));
                }
                Mark::New => {
                    marks[child] = Mark::Open;
                    path.push((child, 0));
                }
            }
        }
    }
    Ok(order)
}

/// The longest chain of subschemas applied to one and the same value.
fn longest_in_place(nodes: &[Node], order: &[usize]) -> usize {
    let mut longest = vec![1usize; nodes.len()];
    for &node in order {
        let below = nodes[node].applied().map(|child| longest[child]).max();
        longest[node] = 1 + below.unwrap_or(0);
    }
    longest.into_iter().max().unwrap_or(1)
}

/// Whether alternatives that a constant member tells apart are all followed, or the fitting one.
#[derive(Clone, Copy, PartialEq)]
enum Alternatives {
    All,
    Dispatched,
}

/// Evaluations of one member at each depth, from the root. An upper bound, computed up to the depth
/// where one member alone exceeds `bound`; below it, the last number stands.
fn growth(
    nodes: &[Node],
    order: &[usize],
    (depth, bound): (usize, u64),
    alternatives: Alternatives,
) -> Growth {
    let mut above: Vec<u64> = Vec::new();
    let mut out = Vec::new();
    for level in 0..=depth {
        // A value is an object or an array: its members are judged by one kind of steps only.
        let mut here = vec![(0u64, 0u64); nodes.len()];
        for &index in order {
            let node = &nodes[index];
            let own = if level == 0 { (1, 1) } else { (node.steps.member(&above), node.steps.item(&above)) };
            let mut sum = node.in_place.iter().fold(own, |sum, &child| add(sum, here[child]));
            for group in &node.exclusive {
                let each = group.iter().map(|&child| here[child]);
                sum = match alternatives {
                    Alternatives::All => each.fold(sum, add),
                    Alternatives::Dispatched => {
                        add(sum, each.fold((0, 0), |most, next| (most.0.max(next.0), most.1.max(next.1))))
                    }
                };
            }
            here[index] = sum;
        }
        above = here.into_iter().map(|(member, item)| member.max(item)).collect();
        let root = above.first().copied().unwrap_or(0);
        out.push(root);
        if root == 0 || root > bound {
            break;
        }
    }
    Growth(out)
}

fn add(left: (u64, u64), right: (u64, u64)) -> (u64, u64) {
    (left.0.saturating_add(right.0), left.1.saturating_add(right.1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn growth_of(schema: &Value) -> Vec<u64> {
        let limits = SchemaLimits { instance_depth: 4, ..SchemaLimits::default() };
        Shape::measure(schema, &limits).unwrap().decide.0
    }

    #[test]
    fn work_grows_with_branches_and_not_with_names() {
        assert_eq!(growth_of(&json!({ "type": "string" })), [1, 0]);
        assert_eq!(growth_of(&json!({ "properties": { "a": {}, "b": {} } })), [1, 1, 0]);
        let tree = json!({ "properties": { "left": { "$ref": "#" }, "right": { "$ref": "#" } } });
        assert_eq!(growth_of(&tree), [1, 2, 2, 2, 2]);
        let doubling = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] } } });
        assert_eq!(growth_of(&doubling), [1, 5, 10, 20, 40]);
        let shared = json!({
            "allOf": [{ "$ref": "#/$defs/a" }, { "$ref": "#/$defs/a" }],
            "$defs": { "a": { "anyOf": [{}, {}] } }
        });
        assert_eq!(growth_of(&shared), [9, 0]);
    }

    #[test]
    fn alternatives_that_exclude_each_other_do_not_multiply() {
        let json_like = json!({ "anyOf": [
            { "type": "string" },
            { "items": { "$ref": "#" } },
            { "additionalProperties": { "$ref": "#" } }
        ] });
        assert_eq!(growth_of(&json_like), [4, 5, 5, 5, 5]);
        let operator = |name: &str| {
            let operand = json!({ "$ref": "#" });
            json!({ "properties": { "op": { "const": name }, "left": operand, "right": operand }, "required": ["op"] })
        };
        let expression = json!({
            "oneOf": [operator("+"), { "$ref": "#/$defs/minus" }, operator("*")],
            "$defs": { "minus": operator("-") }
        });
        assert_eq!(growth_of(&expression), [3, 4, 4, 4, 4]);
        let alike = json!({ "oneOf": [operator("+"), operator("+"), operator("+")] });
        assert_eq!(growth_of(&alike)[3], 5 * 27);
    }
}
