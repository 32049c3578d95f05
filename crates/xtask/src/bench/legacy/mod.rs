//! Sessions of the legacy era as the load opens them.
//!
//! Where to look next: `abandoned.rs` leaves them. A client of the modern era is `load.rs`.

mod abandoned;

use anyhow::{Context as _, Result, ensure};

use super::load;
use super::wire::{Answer, Wire};

pub(crate) use abandoned::{IN_PIPES, IN_SESSIONS, ON_EVENT_STREAMS};

/// The revision that is asked for.
const REVISION: &str = "2025-11-25";

/// What a client says once it is ready.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The message that opens a session.
pub(crate) fn initialize(capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{REVISION}","capabilities":{capabilities},"clientInfo":{{"name":"load","version":"1.0.0"}}}}}}"#
    )
}

/// A request in a session; `params` are its members.
pub(crate) fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#)
}

/// Opens a session over HTTP, and gives the headers that its requests carry.
///
/// # Errors
/// When the server does not open one.
pub(crate) fn open(wire: &mut Wire, address: &str) -> Result<String> {
    let message = initialize("{}");
    wire.send(&[load::head(address, "", message.len()).as_bytes(), message.as_bytes()].concat())?;
    let headers = headers(&wire.receive()?)?;
    let head = load::head(address, &headers, INITIALIZED.len());
    wire.send(&[head.as_bytes(), INITIALIZED.as_bytes()].concat())?;
    let status = wire.receive()?.status;
    ensure!(status == 202, "notifications/initialized was answered with {status}");
    Ok(headers)
}

/// What the requests of a session carry, from the answer that opened it.
fn headers(answer: &Answer) -> Result<String> {
    let said = || format!("no session: {} {}", answer.status, String::from_utf8_lossy(answer.message()));
    let session = answer.session.as_deref().with_context(said)?;
    Ok(format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {REVISION}\r\n"))
}
