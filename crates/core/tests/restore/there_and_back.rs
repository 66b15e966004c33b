//! What every restore does: all kinds of entries, there and back.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::place::{Place, place};

/// Path to kind, mode and content.
fn disk(root: &Path) -> BTreeMap<String, String> {
    fn add(root: &Path, dir: &Path, out: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let meta = fs::symlink_metadata(&path).unwrap();
            let mode = meta.permissions().mode() & 0o777;
            if meta.is_symlink() {
                out.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
            } else if meta.is_dir() {
                out.insert(name, format!("dir {mode:o}"));
                add(root, &path, out);
            } else {
                let content = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                out.insert(name, format!("{mode:o} {content}"));
            }
        }
    }
    let mut out = BTreeMap::new();
    add(root, root, &mut out);
    out
}

#[test]
fn reset_there_and_back() {
    let Place { worktree, store, .. } = &place();
    let at = |name: &str| worktree.join(name);
    fs::create_dir_all(at("d/e")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("d/f"), "one").unwrap();
    fs::write(at("d/e/g"), "deep").unwrap();
    fs::write(at("swap"), "file").unwrap();
    symlink("d/f", at("link")).unwrap();
    let first = store.save("first").unwrap().id;
    let before = disk(worktree);
    fs::write(at("d/f"), "two").unwrap();
    fs::remove_dir_all(at("d/e")).unwrap();
    fs::remove_dir(at("empty")).unwrap();
    fs::remove_file(at("swap")).unwrap();
    fs::create_dir(at("swap")).unwrap();
    fs::write(at("swap/in"), "x").unwrap();
    fs::remove_file(at("link")).unwrap();
    fs::write(at("link"), "no link").unwrap();
    fs::write(at("new"), "new").unwrap();
    fs::set_permissions(at("new"), fs::Permissions::from_mode(0o600)).unwrap();
    let changed = disk(worktree);
    let plan = store.plan_reset(first).unwrap();
    assert_eq!(disk(worktree), changed);
    let receipt = store.reset(first).unwrap();
    assert_eq!(plan.changes, receipt.changes);
    assert!(receipt.is_complete(), "{receipt:?}");
    assert_eq!(disk(worktree), before);
    assert!(store.status().unwrap().is_clean());
    assert_eq!(store.head().unwrap(), Some(first));
    let undone = store.undo().unwrap().unwrap();
    assert!(undone.is_complete(), "{undone:?}");
    assert_eq!(disk(worktree), changed);
    let redone = store.redo().unwrap().unwrap();
    assert!(redone.is_complete(), "{redone:?}");
    assert_eq!(disk(worktree), before);
    store.undo().unwrap().unwrap();
    assert_eq!(disk(worktree), changed);
    assert!(store.undo().unwrap().is_none());
    let again = store.reset(first).unwrap();
    assert!(again.operation.is_some());
    let nothing = store.reset(first).unwrap();
    assert_eq!((nothing.operation, nothing.changes.len()), (None, 0));
}

#[test]
fn rollback_touches_its_paths_only_l43() {
    let Place { worktree, store, .. } = &place();
    let at = |name: &str| worktree.join(name);
    fs::write(at("a"), "a1").unwrap();
    fs::write(at("b"), "b1").unwrap();
    let first = store.save("first").unwrap().id;
    fs::write(at("a"), "a2").unwrap();
    fs::write(at("b"), "b2").unwrap();
    let receipt = store.rollback(first, &["a"]).unwrap();
    assert_eq!(receipt.changes.len(), 1);
    assert_eq!(fs::read_to_string(at("a")).unwrap(), "a1");
    assert_eq!(fs::read_to_string(at("b")).unwrap(), "b2");
    assert!(store.undo().unwrap().unwrap().is_complete());
    assert_eq!(fs::read_to_string(at("a")).unwrap(), "a2");
    assert_eq!(fs::read_to_string(at("b")).unwrap(), "b2");
    fs::write(at("c"), "c").unwrap();
    store.rollback(first, &["c"]).unwrap();
    assert!(!at("c").exists());
    assert!(store.rollback(first, &["never"]).is_err());
    assert!(store.rollback(first, &["../out"]).is_err());
}

#[test]
fn reset_holds_what_is_ignored_and_in_the_way_l37_l3() {
    let Place { worktree, store, .. } = &place();
    let at = |name: &str| worktree.join(name);
    fs::write(at("f"), "small").unwrap();
    let first = store.save("first").unwrap().id;
    fs::write(at(".gitignore"), "f\nsecret\n").unwrap();
    fs::write(at("f"), "ignored and large").unwrap();
    fs::write(at("secret"), "s").unwrap();
    store.save("second").unwrap();
    store.reset(first).unwrap();
    assert_eq!(fs::read_to_string(at("f")).unwrap(), "small");
    assert_eq!(fs::read_to_string(at("secret")).unwrap(), "s");
    assert!(!at(".gitignore").exists());
    store.undo().unwrap().unwrap();
    assert_eq!(fs::read_to_string(at("f")).unwrap(), "ignored and large");
    assert_eq!(fs::read_to_string(at(".gitignore")).unwrap(), "f\nsecret\n");
}

#[test]
fn a_removed_worktree_comes_back_l39() {
    let Place { worktree, store, .. } = &place();
    fs::create_dir(worktree.join("d")).unwrap();
    fs::write(worktree.join("d/f"), "x").unwrap();
    fs::set_permissions(worktree, fs::Permissions::from_mode(0o750)).unwrap();
    let first = store.save("first").unwrap().id;
    fs::remove_dir_all(worktree).unwrap();
    assert!(store.reset(first).unwrap().is_complete());
    assert_eq!(fs::read_to_string(worktree.join("d/f")).unwrap(), "x");
    assert_eq!(fs::metadata(worktree).unwrap().permissions().mode() & 0o777, 0o750);
}
