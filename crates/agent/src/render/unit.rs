//! Units, read from what a schema says about a field.
//!
//! Schemas have no member for units, so they stand at the end of descriptions: *Air temperature in °C.*,
//! *Wind speed (km/h)*. What is not known as a unit is none: a wrong unit is worse than none.

/// Units without a sign that tells them from words.
const KNOWN: &[&str] = &[
    "K", "C", "F", "mbar", "bar", "hPa", "kPa", "Pa", "ppm", "ppb", "mm", "cm", "m", "km", "in", "ft", "mi",
    "mph", "kn", "mV", "V", "mA", "A", "mW", "W", "kW", "Wh", "kWh", "dB", "dBm", "lx", "lux", "Hz", "kHz",
    "MHz", "GHz", "ms", "s", "min", "h", "seconds", "minutes", "hours", "days", "bytes", "B", "kB", "KB",
    "MB", "GB", "KiB", "MiB", "GiB", "mg", "g", "kg", "t", "ml", "l", "px", "points", "EUR", "USD",
];

/// The most characters of a unit.
const LONGEST: usize = 12;

/// The unit at the end of a description's first sentence.
pub(super) fn of(description: &str) -> Option<&str> {
    let sentence = description.lines().next()?.split(". ").next()?.trim().trim_end_matches('.');
    let candidate = match sentence.strip_suffix(')') {
        Some(open) => open.rsplit_once('(')?.1,
        None => sentence.rsplit_once(" in ")?.1,
    };
    let candidate = candidate.trim();
    if candidate.eq_ignore_ascii_case("percent") {
        return Some("%");
    }
    is_unit(candidate).then_some(candidate)
}

fn is_unit(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/°%µμ²³·^-".contains(character);
    if text.is_empty() || text.chars().count() > LONGEST || !text.chars().all(plain) {
        return false;
    }
    let parts = || text.split('/');
    KNOWN.contains(&text)
        || text.contains(['°', '%', 'µ', 'μ', '²', '³'])
        || (text.contains('/') && parts().all(|part| KNOWN.contains(&part)))
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn a_unit_is_what_is_known_as_one() {
        for (description, unit) in [
            ("Air temperature in °C.", Some("°C")),
            ("The highest temperature of the day in °C. Measured outside", Some("°C")),
            ("Battery charge in percent.", Some("%")),
            ("Pressure at sea level in mbar", Some("mbar")),
            ("Wind speed (km/h)", Some("km/h")),
            ("Dust in µg/m³.", Some("µg/m³")),
            ("Sensors in use.", None),
            ("Signal of the radio; smaller is better.", None),
            ("When this was measured, as Unix time in seconds since 1970", None),
            ("The place in the queue", None),
            ("Rooms (and/or halls)", None),
            ("In \u{1b}[2J°", None),
            ("", None),
        ] {
            assert_eq!(of(description), unit, "{description:?}");
        }
    }
}
