//! Names for a model: at most 64 of `[A-Za-z0-9_-]`, one for each pair of server and tool, the same after every
//! restart.
//!
//! A name is `server__tool` where both parts can stand as they are. Else it is made of what is readable and the
//! hash of the pair. The two forms cannot meet: the first holds `__`, the second never does. Within the first,
//! the part before the first `__` is the server, because a server that holds `__` or ends with `_` does not
//! qualify. Within the second, two pairs meet only if 64 bits of SHA-256 do; `Exposure` then leaves one out.

use crate::digest::Digest;

/// The longest name, in bytes, which are characters here.
pub const MAX_TOOL_NAME: usize = 64;

/// Hexadecimal digits of the hash in a shortened name.
const HASH_DIGITS: usize = 16;

/// The name that a model uses for a tool of a server.
///
/// ```
/// use switchboard_agent::exposure::exposed_name;
///
/// assert_eq!(exposed_name("city", "get_weather"), "city__get_weather");
/// assert_eq!(exposed_name("my city", "get.weather"), "my_city_get_weather_34380cdc88dd9633");
/// ```
#[must_use]
pub fn exposed_name(server: &str, tool: &str) -> String {
    let plain = server.len() + 2 + tool.len() <= MAX_TOOL_NAME
        && [server, tool].iter().all(|part| !part.is_empty() && part.bytes().all(is_allowed))
        && !server.contains("__")
        && !server.ends_with('_');
    if plain { format!("{server}__{tool}") } else { shortened(server, tool) }
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn shortened(server: &str, tool: &str) -> String {
    let hash = Digest::of(&[server.as_bytes(), tool.as_bytes()]).short(HASH_DIGITS);
    let mut name = String::with_capacity(MAX_TOOL_NAME);
    for character in server.chars().chain(['_']).chain(tool.chars()) {
        let allowed = u8::try_from(character).is_ok_and(is_allowed);
        let character = if allowed { character } else { '_' };
        // No two underscores in a row: that is the mark of the other form.
        if character != '_' || !(name.is_empty() || name.ends_with('_')) {
            name.push(character);
        }
        if name.len() == MAX_TOOL_NAME - HASH_DIGITS - 1 {
            break;
        }
    }
    let readable = name.trim_end_matches('_');
    // A letter first: some providers refuse a name that begins with a digit.
    if readable.is_empty() { format!("tool_{hash}") } else { format!("{readable}_{hash}") }
}
