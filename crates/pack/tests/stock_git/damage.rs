//! Damaged packs and idx files: an answer or an error, never a panic and never wrong content.

use std::io;

use ckpt_fs::Durability;
use ckpt_pack::{Error, Found, Kind, Object, hash_object, merge};

use crate::repo::{Repo, noise, text};

#[test]
fn a_damaged_pack_is_absent_or_says_so() {
    let repo = Repo::new();
    let content = noise(5, 50_000);
    let id = hash_object(Kind::Blob, &content).unwrap();
    let name = repo.save(&[(Kind::Blob, content)]);
    let path = repo.pack_path().join(format!("pack-{name}.pack"));
    let good = std::fs::read(&path).unwrap();

    // A flipped bit in the middle: seen when the object is read, and when it is merged.
    let mut flipped = good.clone();
    flipped[20_000] ^= 1;
    std::fs::write(&path, &flipped).unwrap();
    let set = repo.set();
    let is_damaged =
        |err: &Error| matches!(err, Error::Damaged { pack, id: Some(at), .. } if (*pack, *at) == (name, id));
    assert!(set.contains(&id).unwrap());
    assert!(is_damaged(&set.read(&id).unwrap_err()));
    assert!(is_damaged(&set.stream(&id, &mut io::sink()).unwrap_err()));
    assert!(is_damaged(&merge(&set, &[name], &repo.tmp_dir(), "m", 0, Durability::None).unwrap_err()));
    assert_eq!(std::fs::read_dir(repo.path("tmp")).unwrap().count(), 0);

    // Another good copy is the answer.
    std::fs::write(&path, &good).unwrap();
    let content = noise(5, 50_000);
    repo.save(&[(Kind::Blob, content.clone()), (Kind::Blob, b"other".to_vec())]);
    std::fs::write(&path, &flipped).unwrap();
    let set = repo.set();
    assert_eq!(set.packs().len(), 2);
    assert!(set.read(&id).unwrap() == Some(Found::Whole(Object { kind: Kind::Blob, content })));

    // Cut short, or gone, or an idx of nonsense: the pack is not there.
    let idx = path.with_extension("idx");
    for damage in 0..4 {
        std::fs::write(&path, &good).unwrap();
        match damage {
            0 => std::fs::write(&path, &good[..good.len() - 1]).unwrap(),
            1 => std::fs::write(&path, &good[..10]).unwrap(),
            2 => std::fs::remove_file(&path).unwrap(),
            _ => std::fs::write(&idx, [0; 2000]).unwrap(),
        }
        let set = repo.set();
        assert_eq!(set.packs().len(), 1, "damage {damage}");
        assert_eq!(set.damaged().iter().map(|problem| problem.name).collect::<Vec<_>>(), [name]);
        assert!(!set.damaged()[0].reason.is_empty());
    }
}

/// Any single wrong byte in an idx or pack is an answer or an error: never a panic, never wrong content.
#[test]
fn no_wrong_byte_gives_wrong_content() {
    let repo = Repo::new();
    let content = text(300);
    let id = hash_object(Kind::Blob, &content).unwrap();
    let name = repo.save(&[(Kind::Blob, content.clone()), (Kind::Tree, Vec::new())]);
    for extension in ["idx", "pack"] {
        let path = repo.pack_path().join(format!("pack-{name}.{extension}"));
        let good = std::fs::read(&path).unwrap();
        // Of the fanout, a sample: 256 equal counts.
        for at in (0..good.len()).filter(|at| extension == "pack" || !(40..1000).contains(at)) {
            for value in [0x00, 0x7f, 0xff, good[at] ^ 1] {
                let mut wrong = good.clone();
                wrong[at] = value;
                std::fs::write(&path, &wrong).unwrap();
                let set = repo.set();
                if let Ok(Some(found)) = set.read(&id) {
                    let whole = Found::Whole(Object { kind: Kind::Blob, content: content.clone() });
                    assert!(found == whole || found == Found::Deltified, "byte {at} of {extension}");
                }
                let mut streamed = Vec::new();
                if let Ok(Some(Found::Whole(_))) = set.stream(&id, &mut streamed) {
                    assert_eq!(streamed, content);
                }
                let _ = merge(&set, &[name], &repo.tmp_dir(), "m", 0, Durability::None);
            }
        }
        std::fs::write(&path, &good).unwrap();
    }
    repo.check();
}
