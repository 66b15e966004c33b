//! Sizes and times as people write them: `100MiB`, `10 MB`, `1g`; `30s`, `500ms`, `2m`.

use std::time::Duration;

/// The longest time that is accepted; a deadline that far ahead is still a valid instant on every platform.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Reads a whole number of bytes with an optional unit; case and the space before the unit do not count.
///
/// A letter alone and the form with `i` are powers of 1024, the form with `b` only is a power of 1000.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split(text, |c| c.is_ascii_digit());
    let factor: u64 = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads a time with an optional unit (`ms`, `s`, `m` or `min`, `h`); without one the number is in seconds.
pub(crate) fn parse_time(text: &str) -> Option<Duration> {
    let (number, unit) = split(text, |c| c.is_ascii_digit() || c == '.');
    let seconds = match unit.as_str() {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    time_of_seconds(number.parse::<f64>().ok()? * seconds)
}

/// Makes a time of a number of seconds: not negative, at most a year.
pub(crate) fn time_of_seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= LONGEST)
}

/// Writes a size so that [`parse_bytes`] reads the same number: in the largest unit that divides it.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None => bytes.to_string(),
    }
}

/// Writes a time in whole seconds if it has no smaller part, else in milliseconds.
pub(crate) fn time_text(time: Duration) -> String {
    if time.subsec_nanos() == 0 {
        format!("{}s", time.as_secs())
    } else {
        format!("{}ms", time.as_secs_f64() * 1_000.0)
    }
}

/// Splits text into its number and its unit, both trimmed, the unit in lower case.
fn split(text: &str, is_number: impl Fn(char) -> bool) -> (&str, String) {
    let text = text.trim();
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        let cases = [
            ("0", Some(0)),
            ("104857600", Some(104_857_600)),
            ("100MiB", Some(104_857_600)),
            ("10 MB", Some(10_000_000)),
            ("1g", Some(1 << 30)),
            (" 2 KiB ", Some(2_048)),
            ("3kb", Some(3_000)),
            ("1.5GiB", None),
            ("-1", None),
            ("", None),
            ("MiB", None),
            ("10 miles", None),
            ("99999999999 TiB", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), bytes, "{text:?}");
        }
    }

    #[test]
    fn times_are_read_with_and_without_units() {
        let cases = [
            ("30", Some(Duration::from_secs(30))),
            ("30s", Some(Duration::from_secs(30))),
            ("500ms", Some(Duration::from_millis(500))),
            ("2m", Some(Duration::from_secs(120))),
            ("2 min", Some(Duration::from_secs(120))),
            ("1.5 h", Some(Duration::from_secs(5_400))),
            ("0", Some(Duration::ZERO)),
            ("-1s", None),
            ("inf", None),
            ("1.2.3s", None),
            ("soon", None),
            ("9000h", None),
        ];
        for (text, time) in cases {
            assert_eq!(parse_time(text), time, "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [0, 1, 1_000, 1_024, 104_857_600, 10_000_000, u64::MAX] {
            assert_eq!(parse_bytes(&bytes_text(bytes)), Some(bytes));
        }
        for millis in [0, 1, 500, 1_001, 30_000] {
            let time = Duration::from_millis(millis);
            assert_eq!(parse_time(&time_text(time)), Some(time));
        }
        assert_eq!(bytes_text(104_857_600), "100MiB");
        assert_eq!(time_text(Duration::from_millis(500)), "500ms");
    }
}
