//! Objects on their way into a pack and back: all kinds, streamed content, content that changes, packs that never appear.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;

use ckpt_fs::Durability;
use ckpt_pack::{Encoder, Error, Found, KEEP_TEXT, Kind, ObjectId, PackWriter, Streamed, hash_object, publish_all};

use crate::repo::{Repo, all_kinds, noise, text};

#[test]
fn objects_of_all_kinds_and_sizes_come_back() {
    let repo = Repo::new();
    let mut objects = all_kinds(b"content\n");
    objects.push((Kind::Tree, Vec::new()));
    for content in [Vec::new(), b"x".to_vec(), noise(1, 100), noise(2, 70_000), text(1 << 20), noise(3, 1 << 20)] {
        objects.push((Kind::Blob, content));
    }
    repo.save(&objects);
    repo.check();
    let set = repo.set();
    for (kind, content) in &objects {
        repo.check_object(&set, hash_object(*kind, content).unwrap(), *kind, content);
    }
    let absent = hash_object(Kind::Blob, b"absent").unwrap();
    assert!(!set.contains(&absent).unwrap());
    assert_eq!(set.header(&absent).unwrap(), None);
    assert_eq!(set.read(&absent).unwrap(), None);
    assert_eq!(set.stream(&absent, &mut io::sink()).unwrap(), None);
    let pack = set.packs()[0];
    assert_eq!(set.ids(&pack.name).unwrap().collect::<BTreeSet<_>>().len(), objects.len());
    assert!(pack.ours && pack.objects as usize == objects.len());
}

#[test]
fn large_content_is_streamed_and_comes_back() {
    let repo = Repo::new();
    let (mib, limit) = (1 << 20, 20 << 20);
    let half = [text(2 * mib), noise(9, 3 * mib)].concat();
    let contents =
        [noise(7, limit), text(limit + 1), half, text(mib), noise(8, mib + 1), text(2 * mib), Vec::new(), text(5)];
    let mut writer = repo.writer();
    for content in &contents {
        let id = hash_object(Kind::Blob, content).unwrap();
        let size = content.len() as u64;
        let mut reader = content.as_slice();
        assert_eq!(writer.add_stream(Kind::Blob, size, Some(id), &mut reader).unwrap(), Streamed::Written(id));
        assert!(writer.contains(&id));
        // A second time, unknown and known: nothing is added.
        let (objects, bytes) = (writer.len(), writer.bytes());
        let again = writer.add_stream(Kind::Blob, size, None, &mut content.as_slice()).unwrap();
        let known = writer.add_stream(Kind::Blob, size, Some(id), &mut io::empty()).unwrap();
        assert_eq!((again, known), (Streamed::Written(id), Streamed::Written(id)));
        assert_eq!((writer.len(), writer.bytes()), (objects, bytes));
    }
    let pack = writer.finish(KEEP_TEXT, Durability::None).unwrap();
    assert_eq!(pack.objects(), contents.len());
    let published = pack.publish(&repo.pack_dir(), Durability::None).unwrap();
    repo.check();
    let file = repo.pack_path().join(format!("pack-{}.pack", published.name));
    let meta = std::fs::metadata(file).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o7777), (published.bytes, 0o600));
    let set = repo.set();
    for content in &contents {
        repo.check_object(&set, hash_object(Kind::Blob, content).unwrap(), Kind::Blob, content);
    }
}

/// Fails after its bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("unplugged")),
            read => Ok(read),
        }
    }
}

#[test]
fn content_that_changed_is_taken_back() {
    let repo = Repo::new();
    let first = (Kind::Blob, text(9 << 20));
    let mut writer = repo.writer();
    let (kind, content) = &first;
    writer.add_stream(*kind, content.len() as u64, None, &mut content.as_slice()).unwrap();
    let before = (writer.len(), writer.bytes());
    for content in [noise(1, 10 << 20), text(12 << 20), text(1000)] {
        let len = content.len() as u64;
        let id = hash_object(Kind::Blob, &content).unwrap();
        let mut stream = |size: u64, expected, reader: &mut dyn Read| {
            let outcome = writer.add_stream(Kind::Blob, size, expected, reader);
            assert_eq!((writer.len(), writer.bytes()), before);
            outcome
        };
        let early = stream(len + 1, Some(id), &mut content.as_slice()).unwrap();
        assert_eq!(early, Streamed::Changed { bytes: len, id: None });
        let late = stream(len - 1, None, &mut content.as_slice()).unwrap();
        assert_eq!(late, Streamed::Changed { bytes: len, id: None });
        let other = stream(len, Some(ObjectId::ZERO), &mut content.as_slice()).unwrap();
        assert_eq!(other, Streamed::Changed { bytes: len, id: Some(id) });
        let failed = stream(len + 1, None, &mut Failing(&content)).unwrap_err();
        assert!(matches!(failed, Error::Source { source } if source.to_string() == "unplugged"));
    }
    // What comes after is written over what was taken back.
    let small = text(3000);
    let small_id = hash_object(Kind::Blob, &small).unwrap();
    writer.add(&Encoder::new().encode(small_id, Kind::Blob, &small)).unwrap();
    writer.finish(KEEP_TEXT, Durability::Full).unwrap().publish(&repo.pack_dir(), Durability::Full).unwrap();
    repo.check();
    let set = repo.set();
    repo.check_object(&set, small_id, Kind::Blob, &small);
    repo.check_object(&set, hash_object(Kind::Blob, content).unwrap(), Kind::Blob, content);
}

#[test]
fn what_is_not_published_leaves_nothing() {
    let repo = Repo::new();
    let content = noise(4, 9 << 20);
    for way in 0..3 {
        let mut writer = repo.writer();
        writer.add_stream(Kind::Blob, content.len() as u64, None, &mut content.as_slice()).unwrap();
        match way {
            0 => drop(writer),
            1 => drop(writer.finish(KEEP_TEXT, Durability::None).unwrap()),
            _ => writer.finish(KEEP_TEXT, Durability::None).unwrap().discard().unwrap(),
        }
        repo.check();
        assert_eq!(std::fs::read_dir(repo.pack_path()).unwrap().count(), 0);
    }
}

#[test]
fn an_empty_pack_is_a_pack() {
    let repo = Repo::new();
    let name = repo.save(&[]);
    assert_eq!(repo.set().packs().len(), 1);
    assert_eq!(repo.set().ids(&name).unwrap().count(), 0);
    repo.check();
}

#[test]
fn several_packs_are_published_in_order_and_the_same_twice() {
    let repo = Repo::new();
    let mut packs = Vec::new();
    for number in 0..3_u32 {
        let mut writer = PackWriter::create(&repo.tmp_dir(), "t", number).unwrap();
        let content = number.to_be_bytes();
        let id = hash_object(Kind::Blob, &content).unwrap();
        writer.add(&Encoder::new().encode(id, Kind::Blob, &content)).unwrap();
        packs.push(writer.finish(KEEP_TEXT, Durability::Full).unwrap());
    }
    let published = publish_all(packs, &repo.pack_dir(), Durability::Full).unwrap();
    let blob = (Kind::Blob, 1_u32.to_be_bytes().to_vec());
    assert_eq!(repo.save(std::slice::from_ref(&blob)), published[1].name);
    assert_eq!(repo.set().packs().len(), 3);
    // A damaged pack is replaced by a good one of the same name.
    let path = repo.pack_path().join(format!("pack-{}.pack", published[1].name));
    std::fs::write(&path, b"").unwrap();
    assert_eq!(repo.set().packs().len(), 2);
    repo.save(&[blob]);
    assert_eq!(repo.set().packs().len(), 3);
    repo.check();
}

/// A large idx is asked in its file at first, and in memory later.
#[test]
fn an_idx_that_is_asked_often_answers_the_same() {
    let repo = Repo::new();
    let content = |number: u32| number.to_be_bytes().to_vec();
    let id = |number: u32| hash_object(Kind::Blob, &content(number)).unwrap();
    repo.save(&(0..3000).map(|number| (Kind::Blob, content(number))).collect::<Vec<_>>());
    for number in [0, 2999] {
        // A set of its own for each: the first question goes to the file.
        let set = repo.set();
        assert!(!set.contains(&id(number + 3000)).unwrap() && set.contains(&id(number)).unwrap());
    }
    let set = repo.set();
    for number in 0..6000 {
        assert_eq!(set.contains(&id(number)).unwrap(), number < 3000, "{number}");
        let object = set.read(&id(number)).unwrap();
        let is_whole = matches!(object, Some(Found::Whole(object)) if object.content == content(number));
        assert_eq!(is_whole, number < 3000, "{number}");
    }
}
