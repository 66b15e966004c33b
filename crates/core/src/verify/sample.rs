//! A part of the contents at a time. Ids are spread evenly, so a range of them is a sample; where the last one ended is
//! kept in `ckpt/verify-sample`, and lost without harm.

use std::collections::BTreeMap;

use crate::error::Context;
use crate::layout::{OWN, TMP};
use crate::objects::pack_error;
use crate::store::Inner;
use crate::{Durability, ObjectId, Result};

/// Name of the file in `ckpt/`.
const SAMPLE: &[u8] = b"verify-sample";
const FIRST_LINE: &str = "ckpt-verify-sample 1\n";

/// The next part of all ids.
pub(super) struct Sample {
    /// The first four bytes of the ids that are meant: from here on.
    start: u32,
    /// That many of these; beyond the last one it goes on with the first.
    width: u64,
}

impl Sample {
    /// The part that follows the last one.
    pub(super) fn next(store: &Inner, percent: f64) -> Result<Self> {
        let path = store.path.join(OWN).join("verify-sample");
        let bytes = store.own.read_file(SAMPLE, 1024).context("read", path)?.unwrap_or_default();
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_prefix(FIRST_LINE));
        let start = text.and_then(|text| u32::from_str_radix(text.trim_end(), 16).ok()).unwrap_or(0);
        let share = (percent / 100.0).clamp(0.0, 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 2^32")]
        let width = (share * 4_294_967_296.0).ceil() as u64;
        Ok(Self { start, width })
    }

    fn contains(&self, id: &ObjectId) -> bool {
        let bytes = id.as_bytes();
        let place = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        u64::from(place.wrapping_sub(self.start)) < self.width
    }

    /// Reads the objects of the part in every pack, with several threads. The packs at which something is wrong, the
    /// number of objects, and the size of their contents.
    pub(super) fn read(&self, store: &Inner) -> Result<(Vec<ObjectId>, u64, u64)> {
        let packs = store.objects.packs();
        let fail = |err| pack_error(&store.path.join("objects"), err);
        let wanted = loop {
            let of_pack = |name: ObjectId| {
                let ids = packs.ids(&name)?.filter(|id| self.contains(id)).map(move |id| (name, id));
                Ok(ids.collect::<Vec<_>>())
            };
            let listed: Result<Vec<_>, _> = packs.packs().into_iter().map(|pack| of_pack(pack.name)).collect();
            match listed {
                Ok(listed) => break listed.concat(),
                // Its objects are in another one by now.
                Err(err) if is_merged(&err) => store.objects.refresh()?,
                Err(err) => return Err(fail(err)),
            }
        };
        let threads = store.options.thread_count();
        let run = |part: &[(ObjectId, ObjectId)]| -> Result<(BTreeMap<ObjectId, ()>, u64)> {
            let (mut bad, mut bytes) = (BTreeMap::new(), 0);
            for (pack, id) in part {
                store.interrupted()?;
                let read = match packs.stream_in(pack, id, &mut std::io::sink()) {
                    Err(err) if is_merged(&err) => packs.stream(id, &mut std::io::sink()),
                    read => read,
                };
                match read {
                    Ok(Some(ckpt_pack::Found::Whole(header))) => bytes += header.size,
                    Ok(Some(ckpt_pack::Found::Deltified)) => {
                        if store.objects.read(*id).is_err() {
                            bad.insert(*pack, ());
                        }
                    }
                    // Whether that matters is told by what is reached.
                    Ok(None) => {}
                    Err(ckpt_pack::Error::Damaged { .. }) => {
                        bad.insert(*pack, ());
                    }
                    Err(err) => return Err(fail(err)),
                }
            }
            Ok((bad, bytes))
        };
        let (mut bad, mut bytes) = (BTreeMap::new(), 0);
        for part in ckpt_fs::in_parallel(wanted.chunks(wanted.len().div_ceil(threads).max(1)), run) {
            let (more, read) = part?;
            bad.extend(more);
            bytes += read;
        }
        Ok((bad.into_keys().collect(), wanted.len() as u64, bytes))
    }

    /// Notes where the next part begins. Nothing depends on it, so it takes no lock, and a failure is none.
    pub(super) fn note(&self, store: &Inner) {
        let Ok(token) = ckpt_fs::token() else { return };
        let next = self.start.wrapping_add(u32::try_from(self.width & 0xffff_ffff).unwrap_or(0));
        let text = format!("{FIRST_LINE}{next:08x}\n");
        let tmp = format!("{TMP}{token}-sample").into_bytes();
        let _ = store.own.write_atomic(&tmp, SAMPLE, text.as_bytes(), Durability::None);
    }
}

/// Whether a pack went into another one since it was listed.
fn is_merged(err: &ckpt_pack::Error) -> bool {
    matches!(err, ckpt_pack::Error::UnknownPack { .. }) || err.is_vanished()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_around() {
        let id = |first: u8| ObjectId::from_bytes([first; 20]);
        let sample = Sample { start: 0xc000_0000, width: 1 << 31 };
        assert!(sample.contains(&id(0xc0)) && sample.contains(&id(0xff)) && sample.contains(&id(0x3f)));
        assert!(!sample.contains(&id(0x40)) && !sample.contains(&id(0xbf)));
        assert!(Sample { start: 7, width: 1 << 32 }.contains(&id(0)));
    }
}
