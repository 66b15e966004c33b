//! Somebody's edit that came out from under its name, on its way back: it stands in the worktree again, whatever others
//! do meanwhile. Nothing is removed here but what we wrote ourselves.

use std::io;

use ckpt_fs::Dir;

use super::step::{Seen, info_of};
use crate::state::EntryInfo;

/// Ends the names of edits that found their place taken.
const BESIDE: &str = ".ckpt-kept";
/// Longest name that file systems take, in bytes.
const MAX_NAME: usize = 255;
/// How often an editor may come in between before its two versions are both kept.
const TRIES: usize = 3;

/// Where an edit is now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// Under its name.
    InPlace,
    /// Beside it, under this name: something newer has its place.
    Beside(Vec<u8>),
}

/// Brings what stands under `tmp` back to `name`. Only `ours`, what we wrote under that name, makes room for it; if
/// anything else stands there, both stay. After an error it stands under `tmp`, or under `name` with ours under `tmp`.
pub(super) fn give_back(dir: &Dir, tmp: &[u8], name: &[u8], ours: Option<EntryInfo>) -> io::Result<Returned> {
    for _ in 0..TRIES {
        match dir.rename_noreplace(tmp, dir, name) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| Returned::InPlace),
        }
        // A directory that looks like the one that is wanted is somebody's: ours is made when nothing stands there.
        let Some(ours) = ours.filter(|ours| !ours.is_dir() && is(dir, name, *ours)) else { break };
        match dir.exchange(tmp, dir, name) {
            Ok(true) => {}
            // It went meanwhile, or the file system cannot exchange.
            Ok(false) => break,
            Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
            Err(err) => return Err(err),
        }
        if is(dir, tmp, ours) {
            return dir.remove_file(tmp).map(|()| Returned::InPlace);
        }
        // An edit came between the look and the exchange. It is the newer one, and gets its place back, or has it for
        // itself where the older one went meanwhile.
        match dir.exchange(tmp, dir, name) {
            Ok(_) => {}
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(err),
        }
    }
    keep_beside(dir, tmp, name)
}

/// Gives what stands under `tmp` a name of its own beside `name`.
fn keep_beside(dir: &Dir, tmp: &[u8], name: &[u8]) -> io::Result<Returned> {
    for number in 0_u32.. {
        let end = if number == 0 { BESIDE.to_owned() } else { format!("{BESIDE}-{number}") };
        let beside = [&name[..name.len().min(MAX_NAME - end.len())], end.as_bytes()].concat();
        match dir.rename_noreplace(tmp, dir, &beside) {
            Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other.map(|()| Returned::Beside(beside)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether the entry is this. One that cannot be read is not.
fn is(dir: &Dir, name: &[u8], info: EntryInfo) -> bool {
    matches!(info_of(dir, name), Ok(Seen::Entry(found, _)) if found == info)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::EntryKind;
    use crate::state::{HashOnly, ObjectSink};

    fn ours(content: &str) -> EntryInfo {
        let id = HashOnly.put(ckpt_pack::Kind::Blob, content.as_bytes()).unwrap();
        EntryInfo { kind: EntryKind::File, mode: 0o644, id }
    }

    #[test]
    fn only_our_own_writing_makes_room() {
        use std::os::unix::fs::PermissionsExt;

        let temp = tempfile::tempdir().unwrap();
        let (dir, at) = (Dir::open(temp.path()).unwrap(), |name: &str| temp.path().join(name));
        let write = |name: &str, content: &str| {
            fs::write(at(name), content).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o644)).unwrap();
        };
        write("t", "edit");
        assert_eq!(give_back(&dir, b"t", b"f", None).unwrap(), Returned::InPlace);
        write("t", "edit");
        write("f", "ours");
        assert_eq!(give_back(&dir, b"t", b"f", Some(ours("ours"))).unwrap(), Returned::InPlace);
        assert_eq!((fs::read_to_string(at("f")).unwrap().as_str(), at("t").exists()), ("edit", false));
        for beside in ["f.ckpt-kept", "f.ckpt-kept-1"] {
            write("t", "older edit");
            write("f", "newer edit");
            let returned = give_back(&dir, b"t", b"f", Some(ours("ours"))).unwrap();
            assert_eq!(returned, Returned::Beside(beside.into()));
            assert_eq!(fs::read_to_string(at("f")).unwrap(), "newer edit");
            assert_eq!(fs::read_to_string(at(beside)).unwrap(), "older edit");
        }
        let long = "x".repeat(255);
        write("t", "older edit");
        write(&long, "newer edit");
        let Returned::Beside(beside) = give_back(&dir, b"t", long.as_bytes(), None).unwrap() else {
            panic!("it is taken")
        };
        assert_eq!(beside.len(), 255);
    }

    #[test]
    fn a_directory_is_never_taken_for_ours_l44() {
        use std::os::unix::fs::PermissionsExt;

        let temp = tempfile::tempdir().unwrap();
        let (dir, at) = (Dir::open(temp.path()).unwrap(), |name: &str| temp.path().join(name));
        for (name, content) in [("t", "older edit"), ("f", "newer edit")] {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
            fs::write(at(name).join("x"), content).unwrap();
        }
        let wanted = EntryInfo { kind: EntryKind::Dir, mode: 0o755, id: crate::ObjectId::ZERO };
        let returned = give_back(&dir, b"t", b"f", Some(wanted)).unwrap();
        assert_eq!(returned, Returned::Beside(b"f.ckpt-kept".into()));
        let content = |name: &str| fs::read_to_string(at(name).join("x")).unwrap();
        assert_eq!((content("f").as_str(), content("f.ckpt-kept").as_str()), ("newer edit", "older edit"));
    }
}
