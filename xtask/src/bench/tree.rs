//! The tree that is measured: made or copied, listed, and edited.
//!
//! An edit writes a line of fixed length at the end of a file, over that of the edit before: the sizes stay, so that the
//! hundredth round is about the same tree as the first.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// What a tree is made of.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A tree of `corpus`, by its number of files.
    Made(usize),
    /// A copy of a directory.
    Copied(PathBuf),
    /// One file that cannot be deflated, by its size.
    OneFile(u64),
}

/// How many files are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    Files(usize),
    All,
}

/// Begins the line of an edit.
const MARK: &[u8] = b"\n// edit ";
const MARK_DIGITS: usize = 12;
const COPIED_AT_ONCE: usize = 1 << 20;

/// Makes the tree in the directory `root`, which must not be there.
pub(crate) fn make(source: &Source, root: &Path) -> Result<(), Failure> {
    match source {
        Source::Made(files) => make_in_child(root, *files),
        Source::Copied(dir) => copy(dir, root),
        Source::OneFile(bytes) => make_one_file(root, *bytes),
    }
}

/// Shows every regular file below `root`, directory by directory, always in the same order. One at a time: a list of all
/// would stay in our memory, with which every program that we start begins (see `measure`).
pub(crate) fn visit_files(root: &Path, mut visit: impl FnMut(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut dirs = vec![root.to_owned()];
    while let Some(dir) = dirs.pop() {
        let entries = fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|err| Failure::at("list", &dir, err))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let kind = entry.file_type().map_err(|err| Failure::at("look at", &entry.path(), err))?;
            // What tools keep in the tree is theirs.
            if kind.is_dir() && !entry.file_name().as_encoded_bytes().starts_with(b".") {
                dirs.push(entry.path());
            } else if kind.is_file() {
                visit(&entry.path())?;
            }
        }
    }
    Ok(())
}

/// Number of regular files.
pub(crate) fn count_files(root: &Path) -> Result<usize, Failure> {
    let mut count = 0;
    visit_files(root, |_| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// `count` of the files, spread evenly over the tree, relative to `root`.
pub(crate) fn choose_files(root: &Path, count: usize) -> Result<Vec<PathBuf>, Failure> {
    let all = count_files(root)?;
    let count = count.min(all);
    let mut chosen = Vec::new();
    let mut number = 0;
    visit_files(root, |path| {
        if chosen.len() < count && number == chosen.len() * all / count {
            chosen.push(path.strip_prefix(root).unwrap_or(path).to_owned());
        }
        number += 1;
        Ok(())
    })?;
    Ok(chosen)
}

/// Edits one file; `turn` makes it another edit than those before.
pub(crate) fn edit(path: &Path, turn: u64) -> Result<(), Failure> {
    let line = [MARK, format!("{turn:0MARK_DIGITS$}\n").as_bytes()].concat();
    let write = || {
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        let end = file.metadata()?.len();
        let mut start = end;
        if let Some(before) = end.checked_sub(line.len() as u64) {
            let mut present = vec![0; MARK.len()];
            file.seek(SeekFrom::Start(before))?;
            file.read_exact(&mut present)?;
            if present == MARK {
                start = before;
            }
        }
        file.seek(SeekFrom::Start(start))?;
        file.write_all(&line)
    };
    write().map_err(|err| Failure::at("edit", path, err))
}

/// Writes a few bytes in the middle of a file.
pub(crate) fn edit_middle(path: &Path, turn: u64) -> Result<(), Failure> {
    let write = || {
        let mut file = OpenOptions::new().write(true).open(path)?;
        let middle = file.metadata()?.len() / 2;
        file.seek(SeekFrom::Start(middle))?;
        file.write_all(format!("{turn:0MARK_DIGITS$}").as_bytes())
    };
    write().map_err(|err| Failure::at("edit", path, err))
}

/// Makes it in a process of its own: what that needs would stay in our memory, with which every program that we start
/// begins (see `measure`).
fn make_in_child(root: &Path, files: usize) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|err| Failure::new("cannot find this program").because(err))?;
    let child = Command::new(program).args(["bench", "--files", &files.to_string(), "--make"]).arg(root).status();
    let status = child.map_err(|err| Failure::at("make", root, err))?;
    if status.success() { Ok(()) } else { Err(Failure::at("make", root, status)) }
}

/// Files, links and modes; a `.git` is left out, because every tool leaves it out and the bare walk would not.
fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let mut dirs = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = dirs.pop() {
        fs::create_dir(&to).map_err(|err| Failure::at("create", &to, err))?;
        for entry in fs::read_dir(&from).map_err(|err| Failure::at("list", &from, err))? {
            let entry = entry.map_err(|err| Failure::at("list", &from, err))?;
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let kind = entry.file_type().map_err(|err| Failure::at("look at", &path, err))?;
            let copied = if kind.is_dir() {
                if entry.file_name() != ".git" {
                    dirs.push((path.clone(), target));
                }
                Ok(())
            } else if kind.is_symlink() {
                fs::read_link(&path).and_then(|link| std::os::unix::fs::symlink(link, &target))
            } else if kind.is_file() {
                fs::copy(&path, &target).map(drop)
            } else {
                Ok(())
            };
            copied.map_err(|err| Failure::at("copy", &path, err))?;
        }
    }
    Ok(())
}

fn make_one_file(root: &Path, bytes: u64) -> Result<(), Failure> {
    let path = root.join("large.bin");
    let write = || {
        fs::create_dir(root)?;
        let mut random = super::random::Random::new(bytes);
        let mut file = fs::File::create_new(&path)?;
        let mut left = bytes;
        while left > 0 {
            let mut piece: Vec<u8> = (0..COPIED_AT_ONCE / 8).flat_map(|_| random.number().to_le_bytes()).collect();
            piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            file.write_all(&piece)?;
            left -= piece.len() as u64;
        }
        Ok(())
    };
    write().map_err(|err: io::Error| Failure::at("write", &path, err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_takes_the_place_of_the_one_before() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "text").unwrap();
        edit(&path, 1).unwrap();
        edit(&path, 22).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "text\n// edit 000000000022\n");
    }

    #[test]
    fn a_copy_has_all_but_the_repository() {
        let temp = tempfile::tempdir().unwrap();
        let from = temp.path().join("from");
        fs::create_dir_all(from.join(".git")).unwrap();
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink("b", from.join("a/link")).unwrap();
        let to = temp.path().join("to");
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/link/file")).unwrap(), "x");
        assert!(!to.join(".git").exists());
    }

    #[test]
    fn chosen_files_are_spread() {
        let temp = tempfile::tempdir().unwrap();
        for number in 0..10 {
            fs::write(temp.path().join(format!("f{number}")), "").unwrap();
        }
        let chosen = choose_files(temp.path(), 2).unwrap();
        assert_eq!(chosen, [PathBuf::from("f0"), PathBuf::from("f5")]);
        assert_eq!(choose_files(temp.path(), 99).unwrap().len(), 10);
    }
}
