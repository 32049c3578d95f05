//! VS Code: what it asks for before it starts a server.

use crate::inputs::Input;
use crate::text::Node;

/// The declared inputs. Those that only an extension can answer are left out: a reference to one says so.
pub(super) fn inputs(root: &Node) -> Vec<Input> {
    let declared = root.member("inputs").map_or(&[][..], Node::elements);
    declared.iter().filter_map(input).collect()
}

fn input(node: &Node) -> Option<Input> {
    let text = |key: &str| node.member(key).and_then(Node::text).map(str::to_owned);
    let kind = text("type").unwrap_or_default();
    if !["promptString", "pickString"].contains(&kind.as_str()) {
        return None;
    }
    let mut input = Input::new(text("id")?);
    if let Some(description) = text("description") {
        input.description = description;
    }
    input.default = text("default");
    if kind == "pickString" {
        let options = node.member("options").map_or(&[][..], Node::elements);
        let option =
            |option: &Node| option.text().or_else(|| option.member("value")?.text()).map(str::to_owned);
        input.options = options.iter().filter_map(option).collect();
    } else {
        input.password = super::flag(node, "password").unwrap_or_default();
    }
    Some(input)
}
