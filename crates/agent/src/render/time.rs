//! Unix time as ISO 8601 in UTC.

/// Whether a field holds Unix time, as its name says: `When`, `time_utc`, `date_min_temp`.
pub(super) fn is_named_time(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "when" || name.ends_with("_utc") || name.starts_with("date_")
}

/// From here on a number is milliseconds: as seconds it would be after the year 5138.
const FIRST_MILLISECONDS: u64 = 100_000_000_000;

/// The latest instant that is shown, 9999-12-31, in seconds.
const LAST: u64 = 253_402_300_799;

/// The instant, or `None` if the number can be none.
pub(super) fn iso(number: u64) -> Option<String> {
    let seconds = if number >= FIRST_MILLISECONDS { number / 1000 } else { number };
    if seconds > LAST {
        return None;
    }
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// The date that is so many days after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut rest = days;
    // 400 years have the same length everywhere in the calendar.
    let mut year = 1970 + rest / 146_097 * 400;
    rest %= 146_097;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if rest < length {
            break;
        }
        rest -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::{is_named_time, iso};

    #[test]
    fn instants_are_shown_in_utc() {
        for (number, expected) in [
            (0, Some("1970-01-01T00:00:00Z")),
            (951_782_400, Some("2000-02-29T00:00:00Z")),
            (1_785_196_800, Some("2026-07-28T00:00:00Z")),
            (1_785_196_799_999, Some("2026-07-27T23:59:59Z")),
            (4_107_542_400, Some("2100-03-01T00:00:00Z")),
            (253_402_300_799_000, Some("9999-12-31T23:59:59Z")),
            (u64::MAX, None),
        ] {
            assert_eq!(iso(number).as_deref(), expected, "{number}");
        }
    }

    #[test]
    fn only_names_that_say_so_hold_time() {
        for (name, expected) in [
            ("When", true),
            ("time_utc", true),
            ("date_max_temp", true),
            ("Temperature", false),
            ("update", false),
        ] {
            assert_eq!(is_named_time(name), expected, "{name}");
        }
    }
}
