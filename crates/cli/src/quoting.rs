//! Names and messages in text: readable, harmless for a terminal, and in commands such that a shell reads them back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes `word` so that a POSIX shell takes it as one word; bash, zsh and fish where it needs `$'…'`.
pub(crate) fn shell(word: impl AsRef<OsStr>) -> String {
    let bytes = word.as_ref().as_bytes();
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => dollar_quoted(bytes),
    }
}

/// Writes a path for people: as it is, unless it holds what a line or a terminal cannot take.
pub(crate) fn path(path: impl AsRef<Path>) -> String {
    let bytes = path.as_ref().as_os_str().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => dollar_quoted(bytes),
    }
}

/// Writes one line of a message for people; control characters become visible.
pub(crate) fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().flat_map(visible).collect()
}

fn visible(c: char) -> impl Iterator<Item = char> {
    let shown: String = match c {
        '\t' => "    ".to_owned(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    shown.chars().collect::<Vec<_>>().into_iter()
}

/// `$'…'`, with escapes for control characters and for bytes that are not UTF-8.
fn dollar_quoted(bytes: &[u8]) -> String {
    let mut text = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '\'' | '\\' => text.extend(['\\', c]),
                c if c.is_control() => {
                    let mut encoded = [0; 4];
                    c.encode_utf8(&mut encoded).bytes().for_each(|byte| push_octal(&mut text, byte));
                }
                c => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| push_octal(&mut text, *byte));
    }
    text.push('\'');
    text
}

/// Octal, because a shell ends it after three digits; hex would swallow digits that follow in some shells.
fn push_octal(text: &mut String, byte: u8) {
    text.push_str(&format!("\\{byte:03o}"));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const WORDS: &[&[u8]] = &[
        b"plain-1.0/x",
        b"",
        b"two words",
        b"it's",
        b"a\"b",
        b"back\\slash",
        b"tab\tnewline\n'quote'",
        b"\xff\xfe7",
        "日本.txt".as_bytes(),
        b"$HOME `id` !x *",
        b"~",
        b"\x1b[31m1",
    ];

    #[test]
    fn a_shell_reads_the_word_back() {
        for word in WORDS {
            let quoted = shell(OsStr::from_bytes(word));
            let output = Command::new("bash").arg("-c").arg(format!("printf %s {quoted}")).output();
            // A machine without bash proves nothing here.
            let Ok(output) = output else { return };
            assert_eq!(output.stdout, *word, "{quoted}");
        }
    }

    #[test]
    fn plain_words_stay_plain() {
        assert_eq!(shell("src/main.rs"), "src/main.rs");
        assert_eq!(shell("a b"), "'a b'");
        assert_eq!(shell("it's"), r"'it'\''s'");
    }

    #[test]
    fn paths_for_people_keep_blanks_and_hide_nothing() {
        assert_eq!(path("two words"), "two words");
        assert_eq!(path(OsStr::from_bytes(b"a\nb\xff")), r"$'a\nb\377'");
    }

    #[test]
    fn messages_do_not_reach_the_terminal_raw() {
        assert_eq!(line(b"a\tb\x1b[31m"), "a    b\\u{1b}[31m");
        assert_eq!(line(b"\xff"), "\u{fffd}");
    }
}
