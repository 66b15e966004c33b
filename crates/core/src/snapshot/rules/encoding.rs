//! The rules from outside the tree as a blob, which every checkpoint keeps.
//!
//! ```text
//! ckpt-rules 1
//! limit <bytes>
//! cache-dirs skip|keep
//! exclude <glob>                              any number, in order
//! above <worktree> gitignore|exclude <length>   any number, outermost first
//! <length bytes of content>
//! ```
//!
//! Every line, and each content, ends in one `\n` that is not counted. Fields are separated by one space. Numbers are
//! decimal without leading zeros. Glob and path are percent-encoded: bytes below 0x21, `%`, and above 0x7e, in upper
//! case hex. `<worktree>` is the path of the worktree relative to the directory that the patterns of the file start
//! from, or `.`, which only an `exclude` can have; the path in an entry ends with that of the next one. An `exclude` is
//! the `info/exclude` of the repository; there is at most one, and it comes first. There is one way only to write given
//! rules, and every other one is refused.

use bstr::ByteSlice;

use super::outside::{AboveFile, AboveKind};
use super::{RuleOptions, Rules};
use crate::commit::{percent_decode, percent_encode};

/// The bytes are not rules as this version writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the recorded rules: {0}")]
pub(crate) struct DecodeError(&'static str);

impl Rules {
    /// The rules as a blob. Equal rules give equal bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(&self.options, &self.above)
    }

    /// Takes back [`Rules::encode`].
    ///
    /// # Errors
    /// If `bytes` is not what it writes for any rules.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut options, mut above) = (RuleOptions::default(), Vec::new());
        let mut rest = bytes;
        if take_line(&mut rest)? != b"ckpt-rules 1" {
            return Err(DecodeError("not of version 1"));
        }
        let limit = take_line(&mut rest)?.strip_prefix(b"limit ").and_then(number);
        options.max_file_bytes = limit.ok_or(DecodeError("no size limit"))?;
        options.skip_cache_dirs = match take_line(&mut rest)? {
            b"cache-dirs skip" => true,
            b"cache-dirs keep" => false,
            _ => return Err(DecodeError("no rule for cache directories")),
        };
        while !rest.is_empty() {
            let line = take_line(&mut rest)?;
            if let Some(glob) = line.strip_prefix(b"exclude ") {
                let glob = percent_decode(glob).and_then(|glob| String::from_utf8(glob).ok());
                options.exclude.push(glob.ok_or(DecodeError("a glob is not text"))?);
            } else if let Some(line) = line.strip_prefix(b"above ") {
                let (file, length) = above_line(line).ok_or(DecodeError("a line is malformed"))?;
                let content = take_content(&mut rest, length)?;
                above.push(AboveFile { content, ..file });
            } else {
                return Err(DecodeError("a line is of unknown kind"));
            }
        }
        if !is_ordered(&above) {
            return Err(DecodeError("files of different directories are mixed"));
        }
        let rules = Self::with(options, above);
        if rules.encode() != bytes {
            return Err(DecodeError("not in the form in which it is written"));
        }
        Ok(rules)
    }
}

/// [`Rules::encode`] of rules with these parts.
pub(super) fn encode(options: &RuleOptions, above: &[AboveFile]) -> Vec<u8> {
    let cache_dirs = if options.skip_cache_dirs { "skip" } else { "keep" };
    let head = format!("ckpt-rules 1\nlimit {}\ncache-dirs {cache_dirs}\n", options.max_file_bytes);
    let mut out = head.into_bytes();
    for glob in &options.exclude {
        out.extend_from_slice(b"exclude ");
        out.extend_from_slice(&percent_encode(glob.as_bytes()));
        out.push(b'\n');
    }
    for file in above {
        out.extend_from_slice(b"above ");
        match &*file.worktree {
            b"" => out.push(b'.'),
            path => out.extend_from_slice(&percent_encode(path)),
        }
        let kind = match file.kind {
            AboveKind::Gitignore => "gitignore",
            AboveKind::Exclude => "exclude",
        };
        out.extend_from_slice(format!(" {kind} {}\n", file.content.len()).as_bytes());
        out.extend_from_slice(&file.content);
        out.push(b'\n');
    }
    out
}

fn take_line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let (line, after) = rest.split_once_str("\n").ok_or(DecodeError("it ends too early"))?;
    *rest = after;
    Ok(line)
}

fn take_content(rest: &mut &[u8], length: usize) -> Result<Vec<u8>, DecodeError> {
    let (content, after) = rest.split_at_checked(length).ok_or(DecodeError("it ends too early"))?;
    *rest = after.strip_prefix(b"\n").ok_or(DecodeError("a content is longer than its length"))?;
    Ok(content.to_vec())
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    digits.to_str().ok()?.parse().ok()
}

/// An `above` line without that word: the file, its content still missing, and the length of that.
fn above_line(line: &[u8]) -> Option<(AboveFile, usize)> {
    let mut fields = line.split(|&byte| byte == b' ');
    let worktree = match fields.next()? {
        b"." => Vec::new(),
        path => percent_decode(path)?,
    };
    let kind = match fields.next()? {
        b"gitignore" => AboveKind::Gitignore,
        b"exclude" => AboveKind::Exclude,
        _ => return None,
    };
    let length = number(fields.next()?)?;
    fields.next().is_none().then_some((AboveFile { worktree, kind, content: Vec::new() }, length))
}

/// Whether the files can be above one worktree, outermost first.
fn is_ordered(above: &[AboveFile]) -> bool {
    let is_path = |file: &AboveFile| {
        file.worktree.is_empty() && file.kind == AboveKind::Exclude
            || file.worktree.split_str("/").all(|name| !matches!(name, b"" | b"." | b".."))
    };
    let is_next = |pair: &[AboveFile]| {
        let [outer, inner] = pair else { return false };
        let start = outer.worktree.strip_suffix(&*inner.worktree);
        inner.kind == AboveKind::Gitignore
            && start.is_some_and(|start| match outer.kind {
                AboveKind::Exclude => start.is_empty() || start.ends_with(b"/"),
                AboveKind::Gitignore => start.ends_with(b"/"),
            })
    };
    above.iter().all(is_path) && above.windows(2).all(is_next)
}

#[cfg(test)]
mod tests {
    use super::super::{RuleFiles, Verdict};
    use super::{AboveFile, AboveKind, RuleOptions, Rules};

    fn rules() -> Rules {
        let options = RuleOptions {
            exclude: vec!["*.iso".into(), "a b%ü".into(), "[".into()],
            max_file_bytes: 0,
            skip_cache_dirs: false,
        };
        let file = |worktree: &[u8], kind, content: &[u8]| AboveFile {
            worktree: worktree.into(),
            kind,
            content: content.into(),
        };
        let above = vec![
            file(b"a \xff/w", AboveKind::Exclude, b"*.tmp"),
            file(b"a \xff/w", AboveKind::Gitignore, b"above w gitignore 3\n"),
            file(b"w", AboveKind::Gitignore, b"/w/x\r\n\xfe\n\n"),
        ];
        Rules::with(options, above)
    }

    #[test]
    fn written_as_documented() {
        let text = b"ckpt-rules 1\nlimit 0\ncache-dirs keep\nexclude *.iso\nexclude a%20b%25%C3%BC\n\
            above a%20%FF/w exclude 5\n*.tmp\nabove a%20%FF/w gitignore 20\nabove w gitignore 3\n\n\
            above w gitignore 9\n/w/x\r\n\xfe\n\n\n";
        assert_eq!(rules().encode(), text);
        let plain = Rules::with(RuleOptions::default(), Vec::new());
        assert_eq!(plain.encode(), b"ckpt-rules 1\nlimit 104857600\ncache-dirs skip\n");
    }

    #[test]
    fn what_is_read_back_judges_alike() {
        let before = rules();
        let after = Rules::decode(&before.encode()).unwrap();
        assert_eq!(after.options(), before.options());
        assert_eq!(after.signature(), before.signature());
        assert_eq!(after.encode(), before.encode());
        let [before, after] = [before, after].map(|rules| rules.above_root().enter(b"", RuleFiles::default()));
        for name in ["x", "\u{fe}", "a.tmp", "a.iso", "a b%ü", "other"] {
            assert_eq!(after.judge(name.as_bytes(), false), before.judge(name.as_bytes(), false), "{name}");
        }
        assert_eq!(after.judge(b"x", false), Verdict::Ignored);
        assert_eq!(after.judge(b"\xfe", false), Verdict::Ignored);
        assert_eq!(after.judge("a b%ü".as_bytes(), false), Verdict::Excluded);
    }

    #[test]
    fn other_forms_are_refused() {
        let head = "ckpt-rules 1\nlimit 1\ncache-dirs skip\n";
        assert!(Rules::decode(head.as_bytes()).is_ok());
        for text in ["", "ckpt-rules 2\n", "ckpt-rules 1\nlimit 01\ncache-dirs skip\n", "ckpt-rules 1\nlimit 1\n"] {
            assert!(Rules::decode(text.as_bytes()).is_err(), "{text}");
        }
        let tails = [
            "exclude %6\n",
            "exclude %61\n",
            "exclude [\n",
            "exclude %0A\n",
            "exclude %FF\n",
            "exclude a",
            "other\n",
            "above w gitignore 5\na\n",
            "above w gitignore 0\na\n",
            "above w gitignore +1\na\n",
            "above . gitignore 1\na\n",
            "above ../w gitignore 1\na\n",
            "above /w gitignore 1\na\n",
            "above w gitignore 1\na\nexclude x\n",
            "above w gitignore 1\na\nabove w exclude 1\na\n",
            "above w gitignore 1\na\nabove a/w gitignore 1\na\n",
            "above aw gitignore 1\na\nabove w gitignore 1\na\n",
            "above w gitignore 99999999999999999999\na\n",
        ];
        for tail in tails {
            assert!(Rules::decode(format!("{head}{tail}").as_bytes()).is_err(), "{tail}");
        }
    }

    #[test]
    fn every_option_is_in_the_signature() {
        let options = [
            RuleOptions::default(),
            RuleOptions { exclude: vec!["a".into()], ..RuleOptions::default() },
            RuleOptions { max_file_bytes: 1, ..RuleOptions::default() },
            RuleOptions { skip_cache_dirs: false, ..RuleOptions::default() },
        ];
        let mut signatures = options.map(|options| Rules::with(options, Vec::new()).signature()).to_vec();
        signatures.push(rules().signature());
        signatures.sort_unstable();
        signatures.dedup();
        assert_eq!(signatures.len(), 5);
    }
}
