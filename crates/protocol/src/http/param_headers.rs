//! `x-mcp-header`: tool parameters that are repeated as HTTP headers [spec: server/tools, x-mcp-header].
//!
//! [`ParamHeaders`] is read once from a tool's input schema. A client asks it for the headers of a call,
//! a server lets it compare the headers of a call with the arguments. `Mcp-Name` and the other standard
//! headers are [`super::classify`]'s business; whether the arguments fit the schema is the validator's.
//!
//! Where to look next: `param_headers/annotations.rs` for the prohibitions, `param_headers/scalar.rs`
//! for reading single values out of the arguments.

mod annotations;
mod scalar;

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{clip, value};
use crate::error::ProtocolError;
use scalar::Scalar;

pub use annotations::ParamHeaderError;

/// Annotations that one schema may have: as many headers as a request can bear.
pub const MAX_PARAM_HEADERS: usize = 64;

/// Integers beyond this are not exact in every peer (2^53 − 1).
const SAFE_INTEGER: u64 = (1 << 53) - 1;

/// One annotated parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamHeader {
    path: Vec<String>,
    name: HeaderName,
    annotation: String,
    integer: bool,
}

impl ParamHeader {
    /// The property names that lead from the arguments to the value.
    #[must_use]
    pub fn path(&self) -> &[String] {
        &self.path
    }

    /// The header that carries the value: `mcp-param-` and the annotation in lower case.
    #[must_use]
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// The annotation as the schema spells it.
    #[must_use]
    pub fn annotation(&self) -> &str {
        &self.annotation
    }
}

/// The annotated parameters of one tool.
///
/// ```
/// use serde_json::{json, value::to_raw_value};
/// use switchboard_protocol::http::param_headers::ParamHeaders;
///
/// let annotated = ParamHeaders::from_schema(&json!({
///     "type": "object",
///     "properties": { "region": { "type": "string", "x-mcp-header": "Region" } }
/// }))?;
/// let arguments = to_raw_value(&json!({ "region": "us-west1", "query": "…" }))?;
/// let headers: http::HeaderMap = annotated.headers_for(&*arguments)?.into_iter().collect();
/// assert_eq!(headers["mcp-param-region"], "us-west1");
/// assert!(annotated.check(&headers, &*arguments).is_ok());
/// assert!(annotated.check(&http::HeaderMap::new(), &*arguments).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParamHeaders {
    entries: Vec<ParamHeader>,
}

/// The arguments of a call, as text or decoded.
pub trait Arguments: sealed::Arguments {}

impl Arguments for RawValue {}
impl Arguments for Map<String, Value> {}

mod sealed {
    use super::scalar::{self, Scalar};
    use super::{Map, ParamHeader, RawValue, Value};

    /// Finds the annotated values: one for each entry, in order.
    pub trait Arguments {
        #[doc(hidden)]
        fn scalars<'a>(&'a self, entries: &[ParamHeader]) -> Result<Vec<Scalar<'a>>, serde_json::Error>;
    }

    impl Arguments for RawValue {
        fn scalars<'a>(&'a self, entries: &[ParamHeader]) -> Result<Vec<Scalar<'a>>, serde_json::Error> {
            scalar::read(&mut serde_json::Deserializer::from_str(self.get()), entries)
        }
    }

    impl Arguments for Map<String, Value> {
        fn scalars<'a>(&'a self, entries: &[ParamHeader]) -> Result<Vec<Scalar<'a>>, serde_json::Error> {
            scalar::read(self, entries)
        }
    }
}

impl ParamHeaders {
    /// Reads the annotations of a tool's input schema.
    ///
    /// # Errors
    /// Any annotation that the specification prohibits. A client on HTTP leaves such a tool out of its
    /// list, with a warning; a server refuses to start with it.
    pub fn from_schema(schema: &Value) -> Result<Self, ParamHeaderError> {
        annotations::collect(schema).map(|entries| Self { entries })
    }

    /// Whether no parameter is annotated. Then the other methods cost nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The annotated parameters, in the order of the schema.
    #[must_use]
    pub fn entries(&self) -> &[ParamHeader] {
        &self.entries
    }

    /// The headers of a call with these arguments. A value that is null or absent has none.
    ///
    /// # Errors
    /// A value that no header can carry: an object, an array, a fraction, or an integer beyond ±(2^53 − 1).
    pub fn headers_for<A: Arguments + ?Sized>(
        &self,
        arguments: &A,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, ParamValueError> {
        if self.entries.is_empty() {
            return Ok(Vec::new());
        }
        let scalars = arguments.scalars(&self.entries).map_err(|_| ParamValueError::unreadable())?;
        let mut headers = Vec::with_capacity(self.entries.len());
        for (entry, scalar) in self.entries.iter().zip(&scalars) {
            if *scalar == Scalar::Absent {
                continue;
            }
            let text = scalar.text().ok_or_else(|| ParamValueError::of(entry))?;
            // What `encode` returns is printable ASCII, so the conversion cannot fail.
            let value =
                HeaderValue::from_str(&value::encode(&text)).map_err(|_| ParamValueError::of(entry))?;
            headers.push((entry.name.clone(), value));
        }
        Ok(headers)
    }

    /// Compares the headers of a call with its arguments.
    ///
    /// A value that is null or absent needs no header; a header that says otherwise is a mismatch, since
    /// whoever routed by it was told something else than the tool is
    /// [spec: basic/transports/streamable-http, Server Behavior for Custom Headers].
    ///
    /// # Errors
    /// The first header that is missing, repeated, malformed, or that says something else.
    pub fn check<A: Arguments + ?Sized>(
        &self,
        headers: &HeaderMap,
        arguments: &A,
    ) -> Result<(), ParamMismatch> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let scalars = arguments
            .scalars(&self.entries)
            .map_err(|error| ParamMismatch(format!("the arguments cannot be read: {error}")))?;
        for (entry, scalar) in self.entries.iter().zip(&scalars) {
            check_one(entry, header_of(entry, headers)?.as_deref(), scalar)?;
        }
        Ok(())
    }
}

/// The decoded header of a parameter, if there is exactly one.
fn header_of<'a>(entry: &ParamHeader, headers: &'a HeaderMap) -> Result<Option<Cow<'a, str>>, ParamMismatch> {
    let mut values = headers.get_all(&entry.name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ParamMismatch(format!("{} is sent more than once", shown(entry))));
    }
    value::decode(first.as_bytes())
        .map(Some)
        .map_err(|error| ParamMismatch(format!("{} {error}", shown(entry))))
}

fn check_one(entry: &ParamHeader, header: Option<&str>, scalar: &Scalar<'_>) -> Result<(), ParamMismatch> {
    let text = match (scalar, scalar.text()) {
        (Scalar::Absent, _) if header.is_none() => return Ok(()),
        (Scalar::Absent, _) => {
            return Err(ParamMismatch(format!(
                "{} is sent, but the argument {} has no value",
                shown(entry),
                pointer(entry)
            )));
        }
        (_, Some(text)) => text,
        (Scalar::Unsafe, None) => {
            return Err(ParamMismatch(format!(
                "the argument {} is an integer beyond ±(2^53 − 1), so {} cannot be compared with it",
                pointer(entry),
                shown(entry)
            )));
        }
        // No header can say this. Without one, the schema refuses the argument, which says more.
        (_, None) if header.is_none() => return Ok(()),
        (_, None) => {
            return Err(ParamMismatch(format!(
                "{} is sent, but the argument {} is neither a string, an integer nor a boolean",
                shown(entry),
                pointer(entry)
            )));
        }
    };
    let Some(header) = header else {
        return Err(ParamMismatch(format!(
            "{} is missing, but the argument {} has a value",
            shown(entry),
            pointer(entry)
        )));
    };
    let equal = match scalar {
        Scalar::Integer(body) => scalar::integer_of(header) == Some(*body),
        _ => header == text,
    };
    if equal {
        return Ok(());
    }
    Err(ParamMismatch(format!(
        "{} is {:?}, but the argument {} is {:?}",
        shown(entry),
        clip(header),
        pointer(entry),
        clip(&text)
    )))
}

fn shown(entry: &ParamHeader) -> String {
    format!("Mcp-Param-{}", entry.annotation)
}

fn pointer(entry: &ParamHeader) -> String {
    let pointer: String = entry.path.iter().flat_map(|name| ["/", name.as_str()]).collect();
    clip(&pointer).to_owned()
}

/// An argument that cannot be sent as a header although its parameter is annotated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParamValueError(String);

impl ParamValueError {
    fn unreadable() -> Self {
        Self("the arguments are not a JSON object; send an object".to_owned())
    }

    fn of(entry: &ParamHeader) -> Self {
        let kind =
            if entry.integer { "an integer within ±(2^53 − 1)" } else { "a string, a boolean or null" };
        Self(format!(
            "the argument {} must be repeated in {}, which can only carry {kind}; correct the argument",
            pointer(entry),
            shown(entry)
        ))
    }
}

/// A call whose headers do not tell the truth about its arguments: HTTP 400 and `-32020`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Header mismatch: {0}")]
pub struct ParamMismatch(String);

impl From<ParamMismatch> for ProtocolError {
    fn from(mismatch: ParamMismatch) -> Self {
        Self::header_mismatch(mismatch.to_string())
    }
}

#[cfg(test)]
mod tests;
