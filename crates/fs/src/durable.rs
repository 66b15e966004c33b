//! Whether a change waits for the disk.

/// How hard a writer tries to make a change survive a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Files and directories are synced in the documented order before success is reported.
    #[default]
    Full,
    /// Nothing is synced: for tests, and for stores whose loss does not matter. The order of renames stays.
    None,
}
