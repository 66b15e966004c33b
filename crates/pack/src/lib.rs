//! Git pack and idx files: write, merge, look up, stream an undeltified entry.
//!
//! Knows packs in a directory and nothing of a repository: no refs, no loose objects, no meaning of a tree or a commit.
//! Objects are written whole, never as deltas, so that any of them can be read, streamed and copied by itself. Packs
//! that stock git made are listed too; a deltified object in them is named as such ([`Found::Deltified`]) and left to
//! the caller, who has libgit2 for it.
//!
//! The way in: [`hash_object`] and [`Encoder::encode`] in any thread, [`PackWriter`] to collect, [`PackWriter::finish`]
//! to make the files, [`FinishedPack::publish`] to let readers see them. The way out: [`PackSet`].
//!
//! Beside each pack stands `pack-<name>.keep`: stock git leaves such a pack alone, and it says what was merged into it
//! ([`PackSet::merged`]).
//!
//! ```
//! use ckpt_fs::{Dir, Durability};
//! use ckpt_pack::{Encoder, Found, KEEP_TEXT, Kind, PackSet, PackWriter, hash_object};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let temp = tempfile::tempdir()?;
//! let dir = Dir::open(temp.path())?;
//!
//! let id = hash_object(Kind::Blob, b"hello\n")?;
//! let mut pack = PackWriter::create(&dir, &ckpt_fs::token()?, 0)?;
//! pack.add(&Encoder::new().encode(id, Kind::Blob, b"hello\n"))?;
//! let published = pack.finish(KEEP_TEXT, Durability::Full)?.publish(&dir, Durability::Full)?;
//!
//! let packs = PackSet::open(dir)?;
//! assert_eq!(packs.packs()[0].name, published.name);
//! let Some(Found::Whole(object)) = packs.read(&id)? else { panic!("the object was just written") };
//! assert_eq!(object.content, b"hello\n");
//! # Ok(())
//! # }
//! ```

mod delta;
mod encode;
mod entry;
mod error;
mod hash;
mod id;
mod idx;
mod inflate;
mod keep;
mod kind;
mod merge;
mod pack;
mod plan;
mod publish;
mod remove;
mod scan;
mod set;
mod spool;
mod vetted;
mod writer;

pub use encode::{Encoded, Encoder};
pub use error::{Error, Result};
pub use hash::{ObjectHasher, hash_object};
pub use id::{IdSet, ObjectId, ParseIdError};
pub use keep::KEEP_TEXT;
pub use kind::Kind;
pub use merge::merge;
pub use plan::{LARGE, plan_merge};
pub use publish::{FinishedPack, PublishedPack, publish_all};
pub use remove::{remove_packs, settle_orphans, unpublished};
pub use scan::{Damage, Lookup, Scan, pack_names};
pub use set::{Found, Header, Object, PackInfo, PackProblem, PackSet};
pub use vetted::Vetted;
pub use writer::{PackWriter, Streamed};
