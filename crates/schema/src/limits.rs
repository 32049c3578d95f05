//! The named limits of schemas and of the values checked against them.
//!
//! The defaults are far above what published tools use and far below what hurts a server
//! [spec: basic, Composition-Keyword Resource Use]. Where to look next: `shape.rs` measures a schema.

/// How large a schema, its patterns and a checked value may be.
///
/// ```
/// use switchboard_schema::SchemaLimits;
///
/// let limits = SchemaLimits { subschemas: 500, ..SchemaLimits::default() };
/// assert_eq!(limits.instance_depth, 128);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaLimits {
    /// Bytes of the schema as compact JSON, about. Default 1 MiB.
    pub bytes: usize,
    /// Nesting of the schema document, and of the chain of references through it. Default 64.
    pub depth: usize,
    /// Subschemas in the whole document. Default 5 000.
    pub subschemas: usize,
    /// Regular expressions (`pattern`, `patternProperties`) in the whole document. Default 128.
    pub patterns: usize,
    /// Bytes that one compiled regular expression may take. Default 512 KiB.
    pub pattern_bytes: usize,
    /// Steps back that one match of a pattern with look-around may take; patterns without
    /// look-around never step back. Default 10 000.
    pub pattern_backtracks: usize,
    /// Nesting of a value that is checked. Default 128, as deep as `serde_json` reads.
    pub instance_depth: usize,
    /// Violations reported for one value. Default 16.
    pub violations: usize,
    /// Evaluations that may be spent on deciding whether a value fits, beyond 64 for each of its members
    /// (work that is linear in the size of a value is always done). Default 5 000 000.
    pub steps: u64,
    /// Evaluations that may be spent on *explaining* why a value does not fit. Whether it fits is
    /// always decided; above this number the answer is one violation that names no detail.
    /// Default 200 000.
    pub explain_steps: u64,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            depth: 64,
            subschemas: 5_000,
            patterns: 128,
            pattern_bytes: 512 * 1024,
            pattern_backtracks: 10_000,
            instance_depth: 128,
            violations: 16,
            steps: 5_000_000,
            explain_steps: 200_000,
        }
    }
}
