//! The names in one directory, in one reusable buffer.

use crate::FileKind;

/// One name in a directory.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Name: one component, never empty, never `.` or `..`.
    pub name: &'a [u8],
    /// Kind as the directory tells it; `None` where the file system does not.
    pub kind: Option<FileKind>,
}

/// Names of one directory, sorted by their bytes. Kept and filled again, so that a walk does not allocate a directory.
#[derive(Debug, Default)]
pub struct Entries {
    names: Vec<u8>,
    items: Vec<(u32, u16, Option<FileKind>)>,
}

impl Entries {
    /// Number of names.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the directory holds nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The names in byte order.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'_>> {
        self.items.iter().map(|&(start, len, kind)| Entry { name: self.slice(start, len), kind })
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.items.clear();
    }

    pub(crate) fn push(&mut self, name: &[u8], kind: Option<FileKind>) {
        if name == b"." || name == b".." {
            return;
        }
        // A name has at most 255 bytes on every file system we know; a buffer of 4 GiB of names in one directory is
        // beyond what a kernel serves.
        let start = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let len = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.names.extend_from_slice(name);
        self.items.push((start, len, kind));
    }

    pub(crate) fn sort(&mut self) {
        let names = &self.names;
        let slice = |start: u32, len: u16| &names[start as usize..start as usize + len as usize];
        self.items.sort_unstable_by(|a, b| slice(a.0, a.1).cmp(slice(b.0, b.1)));
    }

    fn slice(&self, start: u32, len: u16) -> &[u8] {
        &self.names[start as usize..start as usize + len as usize]
    }
}
