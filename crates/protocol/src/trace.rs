//! W3C trace context in `_meta` [spec: basic, OpenTelemetry trace context].
//!
//! The values come from a peer and go to the tracing system and to further servers, so only well-formed
//! ones are kept. A malformed value is dropped: it never fails a request. Nothing is generated here.

use crate::http::is_token;

/// Members that `tracestate` may have [W3C Trace Context, 3.3.1.1].
const MAX_STATE_MEMBERS: usize = 32;
/// Bytes that `tracestate` may have; a peer must be able to carry 512.
const MAX_STATE_BYTES: usize = 8192;
/// Members that `baggage` may have; a peer must be able to carry 64.
const MAX_BAGGAGE_MEMBERS: usize = 180;
/// Bytes that `baggage` may have; a peer must be able to carry 8192 [W3C Baggage, 3.3.2].
const MAX_BAGGAGE_BYTES: usize = 8192;

/// The trace that a request belongs to.
///
/// ```
/// use switchboard_protocol::trace::TraceContext;
///
/// let parent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
/// let trace = TraceContext::parse(Some(parent), None, Some("user id=oops"));
/// assert_eq!(trace.traceparent(), Some(parent));
/// assert_eq!(trace.baggage(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    traceparent: Option<String>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

impl TraceContext {
    /// Reads the three values; malformed ones are dropped, and `tracestate` with its `traceparent`.
    #[must_use]
    pub fn parse(traceparent: Option<&str>, tracestate: Option<&str>, baggage: Option<&str>) -> Self {
        let keep = |value: Option<&str>, check: fn(&str) -> bool| {
            value.filter(|value| check(value)).map(ToOwned::to_owned)
        };
        let traceparent = keep(traceparent, is_traceparent);
        let tracestate = traceparent.as_ref().and_then(|_| keep(tracestate, is_tracestate));
        Self { traceparent, tracestate, baggage: keep(baggage, is_baggage) }
    }

    /// Which span is the parent.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }

    /// What the tracing systems on the way have noted.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }

    /// What the application hands along. Anybody on the way may have written it.
    #[must_use]
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// Whether nothing was given, or nothing well-formed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.traceparent.is_none() && self.baggage.is_none()
    }
}

/// `version-traceid-parentid-flags`, all lower-case hexadecimal [W3C Trace Context, 3.2].
fn is_traceparent(value: &str) -> bool {
    if value.len() > 512 {
        return false;
    }
    let mut parts = value.split('-');
    let mut next = |length: usize| parts.next().filter(|part| part.len() == length && is_lower_hex(part));
    let (Some(version), Some(trace), Some(parent), Some(_flags)) = (next(2), next(32), next(16), next(2))
    else {
        return false;
    };
    // A version to come may add parts; this one has none.
    let complete = version != "00" || parts.next().is_none();
    version != "ff" && complete && !is_zero(trace) && !is_zero(parent)
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'0')
}

/// `key=value` members, each key once [W3C Trace Context, 3.3].
fn is_tracestate(value: &str) -> bool {
    if value.len() > MAX_STATE_BYTES {
        return false;
    }
    let mut keys: Vec<&str> = Vec::new();
    for member in value.split(',').map(trim).filter(|member| !member.is_empty()) {
        let Some((key, value)) = member.split_once('=') else { return false };
        if !is_state_key(key) || !is_state_value(value) || keys.contains(&key) {
            return false;
        }
        keys.push(key);
        if keys.len() > MAX_STATE_MEMBERS {
            return false;
        }
    }
    !keys.is_empty()
}

/// A name of up to 256 characters, or `tenant@system` of up to 241 and 14.
fn is_state_key(key: &str) -> bool {
    let is_name = |name: &str, max: usize, digit_first: bool| {
        let first = name.bytes().next();
        let starts =
            first.is_some_and(|byte| byte.is_ascii_lowercase() || (digit_first && byte.is_ascii_digit()));
        starts
            && name.len() <= max
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-*/".contains(&byte))
    };
    match key.split_once('@') {
        Some((tenant, system)) => is_name(tenant, 241, true) && is_name(system, 14, false),
        None => is_name(key, 256, false),
    }
}

fn is_state_value(value: &str) -> bool {
    !value.is_empty()
        && value.len() <= 256
        && !value.ends_with(' ')
        && value.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=')
}

/// `key=value` members with properties after semicolons [W3C Baggage, 3.3.1].
fn is_baggage(value: &str) -> bool {
    if value.len() > MAX_BAGGAGE_BYTES {
        return false;
    }
    value.split(',').count() <= MAX_BAGGAGE_MEMBERS
        && value.split(',').all(|member| {
            let mut parts = member.split(';');
            let is_pair = |part: &str, value_required: bool| match part.split_once('=') {
                Some((key, value)) => is_token(trim(key)) && is_baggage_value(trim(value)),
                None => !value_required && is_token(trim(part)),
            };
            parts.next().is_some_and(|pair| is_pair(pair, true))
                && parts.all(|property| is_pair(property, false))
        })
}

fn is_baggage_value(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b'!' | b'#'..=b'+' | b'-'..=b':' | b'<'..=b'[' | b']'..=b'~'))
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

    fn check(valid: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(valid(text), "{text:?} is well-formed");
        }
        for text in bad {
            assert!(!valid(text), "{text:?} is malformed");
        }
    }

    #[test]
    fn the_parent_is_checked_to_the_letter() {
        check(
            is_traceparent,
            &[
                PARENT,
                "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00",
                "01-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-later",
            ],
            &[
                "",
                "00",
                "ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                "00-0AF7651916CD43DD8448EB211C80319C-00f067aa0ba902b7-01",
                "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more",
                "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7",
                "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-0g",
                " 00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
            ],
        );
    }

    #[test]
    fn the_state_is_a_list_of_members() {
        let many = (0..33).map(|index| format!("k{index}=v")).collect::<Vec<_>>().join(",");
        let long = format!("k={}", "v".repeat(257));
        check(
            is_tracestate,
            &[
                "rojo=00f067aa0ba902b7",
                "congo=t61rcWkgMzE , rojo=1",
                "0tenant@sys=x y",
                "a=1,,b=2",
                "a/b*c_d-e=!",
            ],
            &[
                "", " ", "a", "=1", "A=1", "0a=1", "a=", "a=1,a=2", "a=b=c", "a=\u{e9}", "a=\n", "t@0s=1",
                &many, &long,
            ],
        );
    }

    #[test]
    fn baggage_is_a_list_of_members_with_properties() {
        let many = (0..181).map(|_| "a=1").collect::<Vec<_>>().join(",");
        check(
            is_baggage,
            &["userId=alice", "a=1,b=2;prop;key = value", "k = v ", "k=", "k=%20x", "a==1"],
            &["", "a", "a;b=1", "user id=1", "k=a b", "k=\"x\"", "k=a\\b", "k=\u{e9}", "a=1,,b=2", &many],
        );
    }

    #[test]
    fn malformed_values_are_dropped_and_nothing_else() {
        let whole = TraceContext::parse(Some(PARENT), Some("a=1"), Some("b=2"));
        assert_eq!(
            (whole.traceparent(), whole.tracestate(), whole.baggage()),
            (Some(PARENT), Some("a=1"), Some("b=2"))
        );
        let orphan = TraceContext::parse(Some("nonsense"), Some("a=1"), Some("b=2"));
        assert_eq!((orphan.traceparent(), orphan.tracestate(), orphan.baggage()), (None, None, Some("b=2")));
        assert!(TraceContext::parse(None, Some("a=1"), None).is_empty());
    }
}
