//! Our own file: its types, and what they mean.
//!
//! The types are the one source of what a file may hold: reading, the published schema and the search for the key that
//! was meant all come from them.

mod duration;
mod file;
mod read;
mod schema;

pub(crate) use file::{
    NativeAction, NativeArgument, NativeDialect, NativeLimits, NativeListen, NativeMode, NativeModel,
    NativeModelKind, NativePreset, NativeRule,
};
pub(crate) use read::{Native, read};
pub use schema::schema;
