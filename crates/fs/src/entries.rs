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
    items: Vec<Item>,
}

/// Where a name stands among all names. Small, since a walk sorts these.
#[derive(Clone, Copy, Debug)]
struct Item {
    start: u32,
    len: u16,
    kind: Option<FileKind>,
}

impl Item {
    fn name(self, names: &[u8]) -> &[u8] {
        &names[self.start as usize..][..usize::from(self.len)]
    }
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
        self.items.iter().map(|item| Entry { name: item.name(&self.names), kind: item.kind })
    }

    pub(crate) fn clear(&mut self) {
        self.names.clear();
        self.items.clear();
    }

    /// Takes a name as the kernel gives it; `.` and `..` are left out.
    pub(crate) fn push(&mut self, name: &[u8], kind: Option<FileKind>) {
        if name == b"." || name == b".." {
            return;
        }
        // A name has at most 255 bytes on every file system we know; a buffer of 4 GiB of names in one directory is
        // beyond what a kernel serves.
        let start = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let len = u16::try_from(name.len()).unwrap_or(u16::MAX);
        self.names.extend_from_slice(name);
        self.items.push(Item { start, len, kind });
    }

    pub(crate) fn sort(&mut self) {
        let names = &self.names;
        self.items.sort_unstable_by(|a, b| a.name(names).cmp(b.name(names)));
    }
}
