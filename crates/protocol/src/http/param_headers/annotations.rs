//! Finds the `x-mcp-header` annotations of a schema and refuses the prohibited ones.
//!
//! An annotation counts only on a property that is reached by `properties` alone; anywhere else in the
//! schema it makes the whole tool invalid. So the whole schema is walked, but names of properties and
//! plain data (`const`, `enum`, `default`, `examples`) are never taken for keywords.

use std::collections::HashSet;

use http::HeaderName;
use serde_json::{Map, Value};

use super::{MAX_PARAM_HEADERS, ParamHeader};
use crate::http::{clip, is_token};

const ANNOTATION: &str = "x-mcp-header";
/// Nesting that is followed; as deep as `serde_json` reads.
const MAX_DEPTH: usize = 128;
/// Length of an annotation.
const MAX_NAME: usize = 128;

/// Keywords whose value maps freely chosen names to schemas.
const NAMED_SCHEMAS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// Keywords whose value is data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// A schema with an annotation that the specification prohibits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("x-mcp-header at {path}: {fault}")]
pub struct ParamHeaderError {
    path: String,
    fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it must be a string that names a header; it is {0}")]
    NotAString(&'static str),
    #[error("it must not be empty; name the header that follows Mcp-Param-")]
    Empty,
    #[error("it must not contain control characters")]
    ControlCharacter,
    #[error("it must be a header token (letters, digits and !#$%&'*+-.^_`|~), at most {MAX_NAME} long")]
    NotAToken,
    #[error("{0:?} is used twice (upper and lower case are the same); give each parameter its own name")]
    Duplicate(String),
    #[error("the parameter's type must be string, integer or boolean; it is {0}")]
    NotPrimitive(String),
    #[error(
        "only parameters reached by `properties` alone can be repeated in a header; move it or remove it"
    )]
    Unreachable,
    #[error("more than {MAX_PARAM_HEADERS} parameters are annotated; annotate those that routing needs")]
    TooMany,
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl ParamHeaderError {
    /// Where in the schema the annotation is, as a JSON pointer.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

pub(super) fn collect(schema: &Value) -> Result<Vec<ParamHeader>, ParamHeaderError> {
    let mut walk = Walk { entries: Vec::new(), names: HashSet::new(), pointer: Vec::new() };
    walk.schema(schema, Some(&[]))?;
    Ok(walk.entries)
}

struct Walk<'a> {
    entries: Vec<ParamHeader>,
    names: HashSet<HeaderName>,
    pointer: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn fail<T>(&self, fault: Fault) -> Result<T, ParamHeaderError> {
        let path: String = self.pointer.iter().flat_map(|step| ["/", step]).collect();
        let path = if path.is_empty() { "the root".to_owned() } else { clip(&path).to_owned() };
        Err(ParamHeaderError { path, fault })
    }

    fn within<T>(
        &mut self,
        step: &'a str,
        inner: impl FnOnce(&mut Self) -> Result<T, ParamHeaderError>,
    ) -> Result<T, ParamHeaderError> {
        if self.pointer.len() >= MAX_DEPTH {
            return self.fail(Fault::TooDeep);
        }
        self.pointer.push(step);
        let result = inner(self);
        self.pointer.pop();
        result
    }

    /// Walks a schema; `path` leads to the value it describes, if `properties` alone do.
    fn schema(&mut self, schema: &'a Value, path: Option<&[String]>) -> Result<(), ParamHeaderError> {
        match schema {
            Value::Object(keywords) => self.keywords(keywords, path),
            Value::Array(schemas) => {
                for schema in schemas {
                    self.within("[]", |walk| walk.schema(schema, None))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn keywords(
        &mut self,
        keywords: &'a Map<String, Value>,
        path: Option<&[String]>,
    ) -> Result<(), ParamHeaderError> {
        if let Some(annotation) = keywords.get(ANNOTATION) {
            match path {
                Some(path) if !path.is_empty() => self.annotation(annotation, keywords, path)?,
                _ => return self.fail(Fault::Unreachable),
            }
        }
        for (keyword, value) in keywords {
            if keyword == ANNOTATION || DATA.contains(&keyword.as_str()) {
                continue;
            }
            self.within(keyword, |walk| match value {
                Value::Object(named) if NAMED_SCHEMAS.contains(&keyword.as_str()) => {
                    for (name, schema) in named {
                        let path = path
                            .filter(|_| keyword == "properties")
                            .map(|path| [path, std::slice::from_ref(name)].concat());
                        walk.within(name, |walk| walk.schema(schema, path.as_deref()))?;
                    }
                    Ok(())
                }
                other => walk.schema(other, None),
            })?;
        }
        Ok(())
    }

    fn annotation(
        &mut self,
        annotation: &Value,
        keywords: &Map<String, Value>,
        path: &[String],
    ) -> Result<(), ParamHeaderError> {
        let Value::String(text) = annotation else { return self.fail(Fault::NotAString(kind(annotation))) };
        if let Some(fault) = fault_of(text) {
            return self.fail(fault);
        }
        let integer = match primitive(keywords.get("type")) {
            Ok(primitive) => primitive == "integer",
            Err(found) => return self.fail(Fault::NotPrimitive(found)),
        };
        if self.entries.len() >= MAX_PARAM_HEADERS {
            return self.fail(Fault::TooMany);
        }
        let Ok(name) = HeaderName::try_from(format!("{}{text}", crate::http::PARAM_PREFIX)) else {
            return self.fail(Fault::NotAToken);
        };
        if !self.names.insert(name.clone()) {
            return self.fail(Fault::Duplicate(text.clone()));
        }
        self.entries.push(ParamHeader { path: path.to_vec(), name, annotation: text.clone(), integer });
        Ok(())
    }
}

fn fault_of(text: &str) -> Option<Fault> {
    if text.is_empty() {
        Some(Fault::Empty)
    } else if text.chars().any(char::is_control) {
        Some(Fault::ControlCharacter)
    } else if text.len() > MAX_NAME || !is_token(text) {
        Some(Fault::NotAToken)
    } else {
        None
    }
}

/// The primitive type of a parameter. It may also be null, which sends no header.
fn primitive(declared: Option<&Value>) -> Result<&str, String> {
    let is_primitive = |name: &str| matches!(name, "string" | "integer" | "boolean");
    match declared {
        None => Err("not declared".to_owned()),
        Some(Value::String(name)) if is_primitive(name) => Ok(name),
        Some(Value::Array(names)) => {
            let mut others = names.iter().filter(|name| *name != "null").map(Value::as_str);
            match (others.next().flatten(), others.next()) {
                (Some(name), None) if is_primitive(name) => Ok(name),
                _ => Err(clip(&Value::Array(names.clone()).to_string()).to_owned()),
            }
        }
        Some(Value::String(name)) => Err(clip(name).to_owned()),
        Some(other) => Err(kind(other).to_owned()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
