//! The changes that are held against stock git.

use super::random::Random;
use super::repo::Repo;
use super::{Change, EXECUTABLE, FILE, PATCH, executable, file, link};

/// Changes of text, modes and links with nothing binary, whose patch is Git's own to the byte.
fn text_changes() -> Change {
    let mut change = Change::default();
    for (name, old, new) in [
        ("both-newline", "a\nb\n", "a\nc\n"),
        ("lose-newline", "a\nb\n", "a\nb"),
        ("gain-newline", "a\nb", "a\nb\n"),
        ("never-newline", "a\nb", "a\nc"),
        ("context-without-newline", "a\nb\nc", "x\nb\nc"),
        ("more-after-missing-newline", "a", "a\nb"),
        ("to-crlf", "a\nb\n", "a\r\nb\r\n"),
        ("crlf", "a\r\nb\r\n", "a\r\nc\r\n"),
        ("lone-cr", "a\rb\rc", "a\rb\rd"),
        ("filled", "", "a\n"),
        ("filled-without-newline", "", "a\nb"),
        ("emptied", "a\nb\n", ""),
        ("emptied-without-newline", "a", ""),
        ("only-newlines", "\n\n\n", "\n\n"),
        ("one-newline", "", "\n"),
        ("late-nul", "", ""),
    ] {
        change.path(name, file(old), file(new));
    }
    let late_nul = |end: &str| [vec![b'x'; 8_000], b"\0\n".to_vec(), end.into()].concat();
    change.path("late-nul", file(late_nul("a\n")), file(late_nul("b\n")));
    change.path("not-utf8", file(b"\xe9t\xe9\n"), file(b"\xe8re\n"));
    // Text to Git, whatever other programs say.
    change.path("control-characters", file(b"\x01\x02\x03\n"), file(b"\x01\x02\x04\n"));
    change.path("utf16-mark", file(b"\xff\xfea\n"), file(b"\xff\xfeb\n"));
    change.path("added", None, file("a\nb\n"));
    change.path("added-one-line", None, file("a"));
    change.path("added-empty", None, file(""));
    change.path("added-executable", None, executable("#!/bin/sh\n"));
    change.path("added-empty-executable", None, executable(""));
    change.path("added-link", None, link("target"));
    change.path("deleted", file("a\nb\n"), None);
    change.path("deleted-empty", file(""), None);
    change.path("deleted-executable", executable("a"), None);
    change.path("deleted-link", link("target/with space"), None);
    change.path("mode-on", file("a\n"), executable("a\n"));
    change.path("mode-off", executable("a\n"), file("a\n"));
    change.path("mode-of-empty", file(""), executable(""));
    change.path("mode-of-binary", file("\0"), executable("\0"));
    change.path("mode-and-content", file("a\n"), executable("b\n"));
    change.path("executable-content", executable("a\n"), executable("b\n"));
    change.path("link-target", link("a"), link("../b c/\u{e9}"));
    change.path("unchanged", file("a\n"), file("a\n"));
    change.path("dir", file("was a file\n"), None);
    change.path("dir/file", None, file("a\n"));
    change.path("flat/file", file("a\n"), None);
    change.path("flat", None, file("was a directory\n"));
    change
}

fn kind_changes() -> Change {
    let mut change = Change::default();
    change.path("file-to-link", file("a\nb\n"), link("target"));
    change.path("link-to-file", link("target"), executable("a\n"));
    change.path("same-bytes", file("target"), link("target"));
    change.path("to-empty", link("target"), file(""));
    change
}

fn binary_changes() -> Change {
    let mut random = Random(7);
    let mut change = Change::default();
    let mut bytes =
        |length: usize| -> Vec<u8> { std::iter::once(0).chain((1..length).map(|_| random.below(256) as u8)).collect() };
    for length in [1, 2, 3, 4, 5, 26, 27, 41, 42, 51, 52, 53, 104, 1_000, 70_000, 300_000] {
        let content = bytes(length);
        let mut edited = content.clone();
        edited[length / 2] ^= 0x55;
        edited.push(b'\n');
        change.path(format!("changed-{length}"), file(&content), file(&edited));
        change.path(format!("added-{length}"), None, file(&content));
        change.path(format!("deleted-{length}"), executable(&content), None);
    }
    change.path("zeros", file(vec![0; 1 << 20]), file(vec![0; (1 << 20) + 1]));
    change.path("text-to-binary", file("a\nb\n"), file(b"a\n\0b\n"));
    change.path("binary-to-text", executable(b"\0"), file("a\n"));
    change.path("emptied", file(b"\0\0"), file(""));
    change.path("filled", file(""), file(b"\0\0"));
    change.path("binary-to-link", file(b"\0"), link("target"));
    change
}

/// Names that a patch has to quote, or to tell from their surroundings.
fn names() -> Vec<&'static [u8]> {
    let names: [&[u8]; 20] = [
        b"plain",
        b"a b",
        b" leading",
        b"trailing ",
        b"x b/x",
        b"a/b",
        b"dir with space/b c",
        b"quote\"",
        b"tab\t",
        b"new\nline",
        b"back\\slash",
        b"tab\t and space",
        b"bell\x07",
        b"del\x7f",
        "日本.txt".as_bytes(),
        b"-n",
        b"--- a",
        b"@@",
        b"caf\xc3\xa9 au lait",
        b"\xff\xfe",
    ];
    // macOS refuses names that are not UTF-8.
    names.into_iter().filter(|name| cfg!(target_os = "linux") || std::str::from_utf8(name).is_ok()).collect()
}

/// All names, each with every sort of change.
fn named_changes() -> Vec<Change> {
    let sorts = [
        (file("a\n"), file("b\n")),
        (None, file("a\n")),
        (file("a\n"), None),
        (None, file("")),
        (file("a\n"), executable("a\n")),
        (link("a"), link("b")),
    ];
    let named = |(old, new): (Option<_>, Option<_>)| {
        let mut change = Change::default();
        for name in names() {
            change.path(name, old.clone(), new.clone());
        }
        change
    };
    sorts.into_iter().map(named).collect()
}

fn random_changes() -> Change {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut change = Change::default();
    for index in 0..400 {
        let old = random.text(40);
        let new = if index % 10 == 0 { random.text(40) } else { random.edit(old.clone()) };
        let mut side = |lines: &[_]| Some(([FILE, EXECUTABLE][random.below(8) / 7], random.join(lines)));
        change.path(format!("{index:03}"), side(&old), side(&new));
    }
    change
}

#[test]
fn text_is_as_git_writes_it() {
    text_changes().assert_same_text();
    text_changes().back().assert_same_text();
    kind_changes().assert_same_text();
    random_changes().assert_same_text();
}

#[test]
fn names_are_as_git_writes_them() {
    for change in named_changes() {
        change.assert_same_text();
    }
}

#[test]
fn counts_are_those_of_numstat() {
    text_changes().assert_same_counts();
    text_changes().back().assert_same_counts();
    random_changes().assert_same_counts();
}

#[test]
fn git_applies_text_modes_and_links_in_both_directions() {
    text_changes().assert_applies();
    random_changes().assert_applies();
}

#[test]
fn git_applies_changes_of_kind_in_both_directions() {
    kind_changes().assert_applies();
}

#[test]
fn git_applies_every_name_in_both_directions() {
    for change in named_changes() {
        change.assert_applies();
    }
}

#[test]
fn git_applies_binary_contents_in_both_directions() {
    binary_changes().assert_applies();
}

#[test]
fn headers_of_binary_contents_are_as_git_writes_them() {
    let change = binary_changes();
    let headers = |patch: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(patch).into_owned();
        // Digits of base 85 have no space among them. Git writes a delta where that is shorter.
        text.lines()
            .filter(|line| line.contains(' ') && !line.starts_with("delta ") && !line.starts_with("literal "))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(headers(&change.patch().0), headers(&Repo::new().diff(&change, PATCH)));
}

#[test]
fn what_follows_a_hunks_range_ends_before_bytes_that_are_not_utf8() {
    let text = |end: &str| [b"function \xe9t\xe9\n".as_slice(), b" 1\n 2\n 3\n 4\n ", end.as_bytes(), b"\n"].concat();
    let mut change = Change::default();
    change.path("latin1", file(text("a")), file(text("b")));
    let (patch, _) = change.patch();
    let header = b"\n@@ -3,4 +3,4 @@ function \n";
    assert!(patch.windows(header.len()).any(|window| window == header), "{}", String::from_utf8_lossy(&patch));
    change.assert_applies();
}

#[test]
fn contents_above_the_limit_are_binary() {
    let content = vec![b'\n'; (100 << 20) + 1];
    let mut change = Change::default();
    change.path("large", file("small\n"), file(content));
    let (patch, counts) = change.patch();
    let literal = b"\nGIT binary patch\nliteral 104857601\n";
    assert!(patch.windows(literal.len()).any(|window| window == literal));
    assert!(counts[b"large".as_slice()].binary);
}
