//! Event streams (`text/event-stream`): an incremental decoder and an encoder to the WHATWG grammar.
//!
//! It knows bytes only: no HTTP, no MCP, no reconnecting and no clock. The caller pushes chunks in whatever
//! sizes the network cut them and takes complete events out.
//!
//! Next: [`Decoder`] reads, [`encode_event`] writes.
//!
//! ```
//! use bytes::{Bytes, BytesMut};
//! use switchboard_sse::{Decoder, encode_event};
//!
//! let mut wire = BytesMut::new();
//! encode_event(&mut wire, br#"{"answer":42}"#);
//!
//! let mut decoder = Decoder::new(1 << 20);
//! decoder.push(wire.freeze());
//! let event = decoder.next_event()?.expect("one complete event");
//! assert_eq!(event.name(), "message");
//! assert_eq!(&event.data[..], br#"{"answer":42}"#);
//! assert!(decoder.next_event()?.is_none());
//! # Ok::<(), switchboard_sse::EventTooLarge>(())
//! ```

mod decode;
mod encode;

pub use bytes::Bytes;

pub use crate::decode::{Decoder, Event, EventTooLarge};
pub use crate::encode::{EventRef, InvalidField, encode_comment, encode_event, encode_event_with};

/// The media type of an event stream, without parameters.
pub const MEDIA_TYPE: &str = "text/event-stream";

/// The name of an event that does not name itself.
pub const DEFAULT_EVENT_NAME: &str = "message";
