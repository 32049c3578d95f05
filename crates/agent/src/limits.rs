//! The named limits of a run. Every one of them is reported when it is reached.

/// How far a run may go.
///
/// ```
/// use switchboard_agent::Limits;
///
/// let limits = Limits { steps: 4, ..Limits::default() };
/// assert_eq!(limits.calls, 64);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Answers asked of the model in one run, retries of an empty one included. Default 16.
    pub steps: u32,
    /// Calls of tools in one run. Default 64.
    pub calls: u32,
    /// Steps in a row in which the model may make a call that cannot be made (unknown tool, invalid or
    /// cut-off arguments) and is told so. One more ends the run. Default 2.
    pub corrections: u32,
    /// Identical calls with identical results, in a row, that are made. Further ones are answered with a note
    /// instead. Default 2.
    pub identical_calls: u32,
    /// Bytes of one result that the model is given; the rest is cut out of the middle, visibly.
    /// Default 32 KiB.
    pub result_bytes: usize,
    /// Calls that run at the same time on one server. Calls to different servers always run side by side.
    /// Default 1, because many servers are not made for more.
    pub calls_per_server: usize,
    /// Bytes of an error message of a peer that the model and the person are given. Default 2 KiB.
    pub error_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 16,
            calls: 64,
            corrections: 2,
            identical_calls: 2,
            result_bytes: 32 * 1024,
            calls_per_server: 1,
            error_bytes: 2 * 1024,
        }
    }
}
