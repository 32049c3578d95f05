//! From variables to a URI [RFC 6570, section 3].

use super::encoding::encode;
use super::{Expression, Modifier, Part, VarValue, Vars};

pub(super) fn expand(parts: &[Part], vars: &Vars) -> String {
    let mut out = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => out.push_str(literal),
            Part::Expression(expression) => expand_expression(expression, vars, &mut out),
        }
    }
    out
}

fn expand_expression(expression: &Expression, vars: &Vars, out: &mut String) {
    let mut is_first = true;
    for variable in &expression.variables {
        let Some(value) = vars.value(&variable.name) else { continue };
        let mut writer = Writer { expression, name: &variable.name, is_first: &mut is_first, out };
        match (value, variable.modifier) {
            (VarValue::Text(text), Modifier::Prefix(length)) => {
                let end = text.char_indices().nth(length).map_or(text.len(), |(end, _)| end);
                writer.whole(&text[..end]);
            }
            (VarValue::Text(text), _) => writer.whole(text),
            // An empty list is undefined.
            (VarValue::List(list), Modifier::Explode) => {
                list.iter().for_each(|item| writer.whole(item));
            }
            (VarValue::Pairs(pairs), Modifier::Explode) => {
                pairs.iter().for_each(|(name, value)| writer.pair(name, value));
            }
            (VarValue::List(list), _) => writer.joined(list.iter().map(String::as_str)),
            (VarValue::Pairs(pairs), _) => {
                writer.joined(pairs.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
            }
        }
    }
}

struct Writer<'a> {
    expression: &'a Expression,
    name: &'a str,
    is_first: &'a mut bool,
    out: &'a mut String,
}

impl Writer<'_> {
    /// What stands before an item: the operator's first character, or its separator.
    fn separate(&mut self) {
        if std::mem::take(self.is_first) {
            self.out.push_str(self.expression.operator.first());
        } else {
            self.out.push(self.expression.operator.separator());
        }
    }

    fn name(&mut self, is_empty: bool) {
        let operator = self.expression.operator;
        if operator.is_named() {
            self.out.push_str(self.name);
            // `;name` for an empty parameter, `?name=` for an empty query.
            if !(is_empty && operator == super::Operator::Parameter) {
                self.out.push('=');
            }
        }
    }

    fn value(&mut self, text: &str) {
        encode(text, self.expression.operator.allows_reserved(), self.out);
    }

    fn whole(&mut self, text: &str) {
        self.separate();
        self.name(text.is_empty());
        self.value(text);
    }

    fn pair(&mut self, name: &str, value: &str) {
        self.separate();
        self.value(name);
        if !(value.is_empty() && self.expression.operator == super::Operator::Parameter) {
            self.out.push('=');
        }
        self.value(value);
    }

    fn joined<'b>(&mut self, items: impl Iterator<Item = &'b str>) {
        let mut items = items.peekable();
        if items.peek().is_none() {
            return;
        }
        self.separate();
        self.name(false);
        let mut is_first = true;
        for item in items {
            if !std::mem::take(&mut is_first) {
                self.out.push(',');
            }
            self.value(item);
        }
    }
}
