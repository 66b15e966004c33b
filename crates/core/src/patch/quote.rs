//! How Git writes a path in a line of text (`quote_c_style` in its quote.c).

/// Quotes `prefix` and `path` as Git does in diff headers with `core.quotePath=true`.
///
/// Control characters, `"`, `\` and bytes from 0x7f on put the whole between quotation marks, written as C escapes
/// (octal, three digits, where C has no letter); a space does not. All else is left as it is.
pub(crate) fn quote_path(path: &[u8], prefix: &str) -> Vec<u8> {
    let plain = [prefix.as_bytes(), path].concat();
    if !plain.iter().any(|&byte| must_escape(byte)) {
        return plain;
    }
    let mut quoted = Vec::with_capacity(plain.len() + 8);
    quoted.push(b'"');
    for &byte in &plain {
        if must_escape(byte) {
            push_escape(&mut quoted, byte);
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'"');
    quoted
}

fn must_escape(byte: u8) -> bool {
    !(0x20..0x7f).contains(&byte) || byte == b'"' || byte == b'\\'
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    out.push(b'\\');
    match byte {
        0x07 => out.push(b'a'),
        0x08 => out.push(b'b'),
        b'\t' => out.push(b't'),
        b'\n' => out.push(b'n'),
        0x0b => out.push(b'v'),
        0x0c => out.push(b'f'),
        b'\r' => out.push(b'r'),
        b'"' | b'\\' => out.push(byte),
        _ => out.extend([byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| b'0' + digit)),
    }
}

#[cfg(test)]
mod tests {
    use super::quote_path;

    #[test]
    fn a_plain_path_and_spaces_stay_as_they_are() {
        assert_eq!(quote_path(b"src/a b.rs", "a/"), b"a/src/a b.rs");
        assert_eq!(quote_path(b"~!#$'()*", ""), b"~!#$'()*");
    }

    #[test]
    fn the_prefix_stands_inside_the_quotation_marks() {
        assert_eq!(quote_path(b"say \"hi\"\\", "b/"), br#""b/say \"hi\"\\""#);
    }

    #[test]
    fn bytes_without_a_letter_are_octal() {
        assert_eq!(quote_path(b"\x01\x07\x08\t\n\x0b\x0c\r\x1b\x7f\xff", ""), br#""\001\a\b\t\n\v\f\r\033\177\377""#);
        assert_eq!(quote_path("日".as_bytes(), ""), br#""\346\227\245""#);
    }
}
