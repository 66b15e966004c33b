//! Times as people and machines read them.
//!
//! Checkpoints carry nanoseconds since 1970 UTC. People get an age, machines RFC 3339 in UTC with milliseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

const RFC_3339_MS: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

const FOR_PEOPLE: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");

/// Units of an age, largest first: seconds and name.
const UNITS: [(i64, &str); 7] = [
    (31_556_952, "year"),
    (2_629_746, "month"),
    (604_800, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
];

/// Now, in nanoseconds since 1970 UTC.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Writes `time_ns` as `2026-01-02T03:04:05.678Z`.
pub(crate) fn rfc3339_ms(time_ns: i64) -> String {
    format(time_ns, RFC_3339_MS)
}

/// Writes `time_ns` as `2026-01-02 03:04:05 UTC`.
pub(crate) fn for_people(time_ns: i64) -> String {
    format(time_ns, FOR_PEOPLE)
}

/// Writes how long before `now_ns` a time was: `3 minutes ago`.
pub(crate) fn age(time_ns: i64, now_ns: i64) -> String {
    let seconds = now_ns.saturating_sub(time_ns) / 1_000_000_000;
    if seconds < 0 {
        return "in the future".to_owned();
    }
    match UNITS.iter().find(|(unit, _)| seconds >= *unit) {
        None => "just now".to_owned(),
        Some((unit, name)) => {
            let count = seconds / unit;
            format!("{count} {name}{} ago", if count == 1 { "" } else { "s" })
        }
    }
}

/// Writes a duration with the two or three digits that matter: `21 ms`, `1.4 s`, `2 min 5 s`.
pub(crate) fn duration(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// Milliseconds of a duration.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn format(time_ns: i64, form: &[BorrowedFormatItem<'_>]) -> String {
    // All of i64 lies between the years 1677 and 2262, and these forms need nothing that a time could lack.
    OffsetDateTime::from_unix_timestamp_nanos(time_ns.into())
        .ok()
        .and_then(|time| time.format(form).ok())
        .unwrap_or_else(|| format!("{time_ns} ns"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_a_z() {
        assert_eq!(rfc3339_ms(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339_ms(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123Z");
        assert_eq!(rfc3339_ms(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(for_people(1_700_000_000_123_456_789), "2023-11-14 22:13:20 UTC");
        assert!(rfc3339_ms(i64::MAX).starts_with("2262-") && rfc3339_ms(i64::MIN).starts_with("1677-"));
    }

    #[test]
    fn ages_use_the_largest_unit() {
        let ago = |seconds: i64| age(0, seconds * 1_000_000_000);
        assert_eq!(ago(0), "just now");
        assert_eq!(ago(1), "1 second ago");
        assert_eq!(ago(59), "59 seconds ago");
        assert_eq!(ago(200), "3 minutes ago");
        assert_eq!(ago(7_200), "2 hours ago");
        assert_eq!(ago(86_400 * 6), "6 days ago");
        assert_eq!(ago(86_400 * 20), "2 weeks ago");
        assert_eq!(ago(86_400 * 400), "1 year ago");
        assert_eq!(age(5_000_000_000, 0), "in the future");
        assert_eq!(age(i64::MIN, i64::MAX), "292 years ago");
    }

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(Duration::from_micros(21_900)), "21 ms");
        assert_eq!(duration(Duration::from_millis(1_460)), "1.4 s");
        assert_eq!(duration(Duration::from_millis(125_400)), "2 min 5 s");
    }
}
