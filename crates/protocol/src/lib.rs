//! The Model Context Protocol without IO and without a clock: frames, methods, the model of every
//! method, header rules, session machines and sealed tokens.
//!
//! The model is that of revision 2026-07-28. What earlier revisions lack is an adapter's business
//! ([`era`]), never that of the code which uses the model.
//!
//! Where to look next: [`frame`] splits one JSON-RPC message, [`method`] is the table of methods,
//! [`model`] holds their parameters and results, [`http`] the header rules of the Streamable HTTP
//! transport, [`session`] the machines for pipes.
//!
//! ```
//! use switchboard_protocol::frame::Frame;
//!
//! let frame = Frame::decode(br#"{"jsonrpc":"2.0","id":"1","method":"tools/list"}"#).unwrap();
//! assert!(matches!(frame, Frame::Request(request) if request.method == "tools/list"));
//! ```

pub mod era;
pub mod error;
pub mod frame;
pub mod http;
pub mod id;
pub mod meta;
pub mod method;
pub mod model;
pub mod seal;
pub mod session;
pub mod trace;
pub mod uri_template;
pub mod visible;

pub use era::{Era, Revision};
pub use error::{ErrorCode, ProtocolError};
pub use id::{ProgressToken, RequestId};
pub use meta::RequestMeta;
pub use method::Method;
