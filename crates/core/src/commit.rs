//! Commit objects with headers of our own, as bytes. What the headers mean is for `checkpoint` and `timeline`.

use bstr::ByteSlice;

use crate::ObjectId;

/// Longest value of a header in bytes, after encoding.
pub(crate) const MAX_HEADER: usize = 1024;
/// Larger numbers are in no header of ours: whoever adds to one, or sums some of them up, need not fear the end, and
/// readers of JSON lose no digit.
const MAX_NUMBER: u64 = 1 << 53;

/// A commit object: identity `ckpt <ckpt@localhost>`, UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) tree: ObjectId,
    pub(crate) parents: Vec<ObjectId>,
    /// Seconds since 1970, never below 0: Git has no form for earlier times.
    pub(crate) seconds: i64,
    /// Extra headers in order: name and decoded value.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// Exactly what the caller gave; no NUL.
    pub(crate) message: Vec<u8>,
}

impl Commit {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = format!("tree {}\n", self.tree).into_bytes();
        for parent in &self.parents {
            out.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let seconds = self.seconds.max(0);
        for role in ["author", "committer"] {
            out.extend_from_slice(format!("{role} ckpt <ckpt@localhost> {seconds} +0000\n").as_bytes());
        }
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_bytes());
            out.push(b' ');
            out.extend_from_slice(&percent_encode(value));
            out.push(b'\n');
        }
        out.push(b'\n');
        out.extend_from_slice(&self.message);
        out
    }

    /// Reads a commit object; `None` when it has not the form that [`Commit::encode`] gives.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (head, message) = match bytes.find(b"\n\n") {
            Some(at) => (&bytes[..at], &bytes[at + 2..]),
            None => (bytes, b"".as_slice()),
        };
        let mut commit = Self {
            tree: ObjectId::ZERO,
            parents: Vec::new(),
            seconds: 0,
            headers: Vec::new(),
            message: message.to_vec(),
        };
        let mut has_tree = false;
        for line in head.split(|&byte| byte == b'\n') {
            let (name, value) = line.split_once_str(" ")?;
            match name {
                b"tree" => {
                    commit.tree = std::str::from_utf8(value).ok()?.parse().ok()?;
                    has_tree = true;
                }
                b"parent" => commit.parents.push(std::str::from_utf8(value).ok()?.parse().ok()?),
                b"author" => {}
                b"committer" => commit.seconds = committer_seconds(value)?,
                _ => commit.headers.push((String::from_utf8(name.to_vec()).ok()?, percent_decode(value)?)),
            }
        }
        has_tree.then_some(commit)
    }

    /// The first value of the header `name`.
    pub(crate) fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_slice())
    }

    /// All values of the header `name`, in order.
    pub(crate) fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.iter().filter(move |(header, _)| header == name).map(|(_, value)| value.as_slice())
    }

    /// The header `name` parsed from its text.
    pub(crate) fn parsed<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        std::str::from_utf8(self.header(name)?).ok()?.parse().ok()
    }

    /// The header `name` as a count or a place in an order.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.parsed(name).filter(|number| *number <= MAX_NUMBER)
    }
}

fn committer_seconds(value: &[u8]) -> Option<i64> {
    let after = value.rsplit(|&byte| byte == b'>').next()?;
    std::str::from_utf8(after).ok()?.split_whitespace().next()?.parse().ok()
}

/// Encodes bytes below 0x21, `%`, and bytes above 0x7e as `%XX`.
pub(crate) fn percent_encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if (0x21..=0x7e).contains(&byte) && byte != b'%' {
            out.push(byte);
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

/// Takes back [`percent_encode`]; `None` for a `%` that no two hex digits follow.
pub(crate) fn percent_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        if digits.starts_with('+') {
            return None;
        }
        out.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_round_trips() {
        let commit = Commit {
            tree: ObjectId::EMPTY_TREE,
            parents: vec![ObjectId::ZERO],
            seconds: 12,
            headers: vec![("ckpt-kind".into(), b"manual".to_vec()), ("ckpt-path".into(), b"a b\n\xff%".to_vec())],
            message: b"one\n\ntwo \xff".to_vec(),
        };
        let bytes = commit.encode();
        assert_eq!(Commit::decode(&bytes), Some(commit));
        assert!(bytes.find(b"ckpt-path a%20b%0A%FF%25\n").is_some());
        assert_eq!(Commit::decode(b"no commit"), None);
        assert_eq!(percent_decode(b"a%2"), None);
        assert_eq!(percent_decode(b"a%+1"), None);
    }

    #[test]
    fn a_time_before_1970_is_written_as_0() {
        let commit = Commit { tree: ObjectId::ZERO, parents: vec![], seconds: -5, headers: vec![], message: vec![] };
        assert!(commit.encode().find(b"<ckpt@localhost> 0 +0000").is_some());
    }
}
