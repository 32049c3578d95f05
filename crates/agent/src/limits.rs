//! The named limits of a run. Every one of them is reported when it is reached.

use std::time::Duration;

/// Bytes of one message of a server, such as a result with everything in it. 64 MiB: whoever sends more is told to send
/// less, because a host has to hold it at once.
pub const MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// How far a run may go.
///
/// Bytes stand for tokens: about four of them make one, in English and in JSON.
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
    /// Tokens that all answers of the model cost together, read and written. Checked before the model is asked
    /// again. Default 2 000 000.
    pub tokens: Option<u64>,
    /// How long a run may take, without the time in which a person is asked. Default 30 minutes.
    pub wall_clock: Option<Duration>,
    /// Steps in a row in which the model may make a call that cannot be made (unknown tool, invalid or
    /// cut-off arguments) and is told so. One more ends the run. Default 2.
    pub corrections: u32,
    /// Identical calls with identical results, in a row, that are made. Further ones are answered with a note
    /// instead. Default 2.
    pub identical_calls: u32,
    /// Bytes of one result that the model is given; the rest is cut out of the middle, visibly, and can be read
    /// in ranges where it is kept. Default 32 KiB.
    pub result_bytes: usize,
    /// Bytes of all results of one step that the model is given; the longest are cut first. Default 64 KiB.
    pub step_bytes: usize,
    /// Bytes of all results of one run that the model is given. Default 512 KiB.
    pub run_bytes: usize,
    /// Bytes of all results of one run that are kept on the disk. What comes after them is not, which is said. Default 1 GiB.
    pub kept_bytes: u64,
    /// Pictures of one run that the model is given. Default 8.
    pub images: u32,
    /// Bytes of one picture that the model is given; a larger one is described. Default 3 MiB.
    pub image_bytes: usize,
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
            tokens: Some(2_000_000),
            wall_clock: Some(Duration::from_secs(30 * 60)),
            corrections: 2,
            identical_calls: 2,
            result_bytes: 32 * 1024,
            step_bytes: 64 * 1024,
            run_bytes: 512 * 1024,
            kept_bytes: 1 << 30,
            images: 8,
            image_bytes: 3 * 1024 * 1024,
            calls_per_server: 1,
            error_bytes: 2 * 1024,
        }
    }
}
