//! Methods and notifications that only the legacy era has.

/// Opens a session.
pub const INITIALIZE: &str = "initialize";
/// The client is ready for the server's requests.
pub const INITIALIZED: &str = "notifications/initialized";
/// Is anybody there? Both sides may ask, and the answer is an empty object.
pub const PING: &str = "ping";
/// The least severe log message that the client wants from now on.
pub const SET_LEVEL: &str = "logging/setLevel";
/// Announce changes of the contents of this resource.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// No longer.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The client's roots changed.
pub const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
/// What a person was sent to an address for is done.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
