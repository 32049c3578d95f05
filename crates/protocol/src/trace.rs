//! W3C trace context in `_meta` [spec: basic, OpenTelemetry trace context].

/// The trace that a request belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {}

impl TraceContext {
    /// Reads the three values; malformed ones are dropped.
    #[must_use]
    pub fn parse(_traceparent: Option<&str>, _tracestate: Option<&str>, _baggage: Option<&str>) -> Self {
        Self {}
    }
}
