//! Contents that are not text: Git's rule for what is, and its `GIT binary patch`.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// As many bytes Git looks at for a NUL (`FIRST_FEW_BYTES` in its xdiff-interface.c).
const LOOKED_AT_BYTES: usize = 8_000;

/// Contents above this size are not compared by lines: libgit2 would need several times as much memory.
const TEXT_MAX_BYTES: usize = 100 << 20;

/// Bytes of compressed content in a full line.
const LINE_BYTES: usize = 52;

const BASE85: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// Whether a content is binary to Git, or too large to be compared by lines.
pub(super) fn is_binary(content: &[u8]) -> bool {
    content.len() > TEXT_MAX_BYTES || content.iter().take(LOOKED_AT_BYTES).any(|&byte| byte == 0)
}

/// Writes both contents in full, the new one first, so that the patch can be applied in either direction.
pub(super) fn write(out: &mut Vec<u8>, old: &[u8], new: &[u8]) -> Result<(), git2::Error> {
    out.extend_from_slice(b"GIT binary patch\n");
    for content in [new, old] {
        // Writing to memory does not fail; the signature of the encoder says that it could.
        write_literal(out, content).map_err(|error| git2::Error::from_str(&error.to_string()))?;
    }
    Ok(())
}

fn write_literal(out: &mut Vec<u8>, content: &[u8]) -> io::Result<()> {
    out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
    // Git compresses at level 1 here as well.
    let mut encoder = ZlibEncoder::new(Base85Lines::new(out), Compression::fast());
    encoder.write_all(content)?;
    encoder.finish()?.finish();
    out.push(b'\n');
    Ok(())
}

/// Writes what it is given as lines of base 85, each with a letter in front that tells how many bytes it holds.
struct Base85Lines<'a> {
    out: &'a mut Vec<u8>,
    pending: Vec<u8>,
}

impl<'a> Base85Lines<'a> {
    fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, pending: Vec::with_capacity(LINE_BYTES) }
    }

    fn finish(mut self) {
        if !self.pending.is_empty() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let bytes = self.pending.len() as u8;
        self.out.push(if bytes <= 26 { b'A' + bytes - 1 } else { b'a' + bytes - 27 });
        for group in self.pending.chunks(4) {
            push_group(self.out, group);
        }
        self.out.push(b'\n');
        self.pending.clear();
    }
}

impl Write for Base85Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(LINE_BYTES - self.pending.len());
        self.pending.extend_from_slice(&bytes[..taken]);
        if self.pending.len() == LINE_BYTES {
            self.end_line();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes up to four bytes, filled up with zeros, as five digits, the most significant first.
fn push_group(out: &mut Vec<u8>, group: &[u8]) {
    let mut bytes = [0; 4];
    bytes[..group.len()].copy_from_slice(group);
    let mut rest = u32::from_be_bytes(bytes);
    let mut digits = [0; 5];
    for digit in digits.iter_mut().rev() {
        *digit = BASE85[(rest % 85) as usize];
        rest /= 85;
    }
    out.extend_from_slice(&digits);
}

#[cfg(test)]
mod tests {
    use super::{TEXT_MAX_BYTES, is_binary, write, write_literal};

    #[test]
    fn a_nul_counts_in_the_first_8000_bytes_only() {
        let mut content = vec![b'x'; 8_001];
        content[8_000] = 0;
        assert!(!is_binary(&content));
        content[7_999] = 0;
        assert!(is_binary(&content));
        assert!(!is_binary(b""));
    }

    #[test]
    fn more_than_100_mib_is_never_text() {
        let content = vec![b'\n'; TEXT_MAX_BYTES + 1];
        assert!(is_binary(&content));
        assert!(!is_binary(&content[1..]));
    }

    #[test]
    fn nothing_is_written_as_git_writes_it() {
        let mut out = Vec::new();
        write_literal(&mut out, b"").unwrap();
        assert_eq!(out, b"literal 0\nHcmV?d00001\n\n");
    }

    #[test]
    fn the_new_content_stands_first() {
        let mut out = Vec::new();
        write(&mut out, b"\0", b"").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("GIT binary patch\nliteral 0\n"), "{text}");
        assert!(text.contains("\n\nliteral 1\n"), "{text}");
    }
}
