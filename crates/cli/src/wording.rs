//! Counts, sizes and messages as words.

use ckpt_service::Recovery;

use crate::quoting;

/// Writes `1 file`, `2 files`.
pub(crate) fn count(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The length of a list.
pub(crate) fn length<T>(list: &[T]) -> u64 {
    list.len() as u64
}

/// Writes a size with the digits that matter: `512 B`, `3.4 KiB`, `120 MiB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let exponent = (bytes.ilog2() / 10) as usize;
    let unit = 1_u64 << (10 * exponent);
    let (whole, tenths) = (bytes / unit, bytes % unit / (unit / 10).max(1));
    let name = UNITS[exponent - 1];
    if whole < 10 { format!("{whole}.{} {name}", tenths.min(9)) } else { format!("{whole} {name}") }
}

/// The first line of a message that is not blank, harmless for a terminal; empty for an empty message.
pub(crate) fn first_line(message: &[u8]) -> String {
    let line = message.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    quoting::line(line.unwrap_or_default().trim_ascii())
}

/// The first line in quotes, with those in it escaped, or words that stand for an empty message.
pub(crate) fn quoted_message(message: &[u8]) -> String {
    match first_line(message) {
        line if line.is_empty() => "(no message)".to_owned(),
        line => format!("\"{}\"", line.replace('"', "\\\"")),
    }
}

/// That an interrupted restore was finished first.
pub(crate) fn recovered(recovery: &Recovery) -> String {
    let paths = count(length(&recovery.finished), "path");
    let (verb, to) = (recovery.kind.word(), recovery.to.short());
    let mut text = format!("a {verb} to {to} had been interrupted, and was finished first ({paths})");
    if !recovery.kept.is_empty() {
        let kept = count(length(&recovery.kept), "path");
        text += &format!("; {kept} changed since, and stayed as they were");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(count(0, "file"), "0 files");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(2, "file"), "2 files");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(3_500), "3.4 KiB");
        assert_eq!(bytes(100 << 20), "100 MiB");
        assert!(bytes(u64::MAX).ends_with(" EiB"));
        for power in 0..64 {
            let _ = bytes((1 << power) - 1);
        }
    }

    #[test]
    fn a_message_is_known_by_its_first_line() {
        assert_eq!(first_line(b"\n  before refactor \nmore"), "before refactor");
        assert_eq!(quoted_message(b" \n"), "(no message)");
        assert_eq!(quoted_message(br#"say "no""#), r#""say \"no\"""#);
        assert_eq!(quoted_message(b"x\x07"), "\"x\\u{7}\"");
    }
}
