//! A tar.gz whose bytes depend on its entries and one time only.

use std::io;

use flate2::{Compression, GzBuilder};

/// One file of the archive.
pub(super) struct Entry {
    path: String,
    mode: u32,
    bytes: Vec<u8>,
}

impl Entry {
    /// A file that everybody may read.
    pub(super) fn file(path: String, bytes: Vec<u8>) -> Self {
        Self { path, mode: 0o644, bytes }
    }

    /// A file that everybody may run.
    pub(super) fn program(path: String, bytes: Vec<u8>) -> Self {
        Self { path, mode: 0o755, bytes }
    }
}

/// Packs the entries, sorted by path; all have the time `mtime` (seconds since 1970) and belong to user and group 0.
pub(super) fn tar_gz(mut entries: Vec<Entry>, mtime: u64) -> io::Result<Vec<u8>> {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    // 255 is "unknown": the header would otherwise name the system that packed.
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for entry in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(entry.mode);
        header.set_mtime(mtime);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(entry.bytes.len() as u64);
        tar.append_data(&mut header, &entry.path, entry.bytes.as_slice())?;
    }
    tar.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::{Entry, tar_gz};

    fn entries() -> Vec<Entry> {
        vec![Entry::program("p/b".into(), b"run".to_vec()), Entry::file("p/a".into(), b"text".to_vec())]
    }

    #[test]
    fn order_does_not_count() {
        let backwards = entries().into_iter().rev().collect();
        assert_eq!(tar_gz(entries(), 7).unwrap(), tar_gz(backwards, 7).unwrap());
    }

    #[test]
    fn headers_are_fixed() {
        let packed = tar_gz(entries(), 7).unwrap();
        assert_eq!(&packed[4..8], [0; 4], "time of the gzip header");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let mut seen = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.mtime().unwrap(), header.uid().unwrap(), header.gid().unwrap()), (7, 0, 0));
            seen.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text));
        }
        assert_eq!(seen, [("p/a".into(), 0o644, "text".into()), ("p/b".into(), 0o755, "run".to_owned())]);
    }
}
