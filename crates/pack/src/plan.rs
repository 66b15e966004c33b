//! Which packs to merge, so that there are few of them and each object is copied seldom.
//!
//! Packs are divided into classes by size, each class four times the one before. Four packs of a class are merged into
//! one of the next, with all smaller ones, once that makes eight packs: so an object moves up a class with every copy,
//! and is copied at most once for each factor of four between its first pack and the store. Packs of [`LARGE`] and more
//! are left alone, so that no small save has to copy the hundreds of megabytes of a first one. Where all this leaves more
//! than [`PACKS_MAX`], the packs that break a geometric progression (as in `git repack --geometric=2`) are merged: that
//! makes the pack of each object copied grow by half at least.

use crate::{ObjectId, PackInfo};

/// A pack of so many bytes is not merged with its peers. A first save publishes what it has whenever it has so much.
pub const LARGE: u64 = 64 << 20;

/// No more packs than this are left: some twenty of each class together, and those of a first save of 100 GB, each a third
/// of all before it.
const PACKS_MAX: usize = 64;

/// A merge of fewer packs is not worth its syncs.
const MERGE_MIN: usize = 8;

/// Packs of one class that call for a merge.
const CLASS_FULL: usize = 4;

/// Names of the packs to merge into one, in ascending order of size; empty if there is nothing to do. Packs that are
/// not ours are never among them and do not count.
pub fn plan_merge(packs: &[PackInfo]) -> Vec<ObjectId> {
    let mut ours: Vec<_> = packs.iter().filter(|pack| pack.ours).collect();
    ours.sort_by_key(|pack| (pack.bytes, pack.name));
    let sizes: Vec<u64> = ours.iter().map(|pack| pack.bytes).collect();
    let mut count = full_classes(&sizes[..sizes.partition_point(|&bytes| bytes < LARGE)]);
    if sizes.len() - count > PACKS_MAX {
        count = count.max(broken_progression(&sizes));
    }
    ours[..count].iter().map(|pack| pack.name).collect()
}

/// Number of the smallest packs to merge because a class is full. The outcome counts as a pack of its class at once, so
/// that what the next plan would merge again is merged now. `sizes` ascend.
fn full_classes(sizes: &[u64]) -> usize {
    let (mut count, mut end) = (0, 0);
    for group in sizes.chunk_by(|a, b| class(*a) == class(*b)) {
        end += group.len();
        let merged: u64 = sizes[..count].iter().sum();
        let peers = group.len() + usize::from(count > 0 && class(merged) == class(group[0]));
        if peers >= CLASS_FULL && end >= MERGE_MIN {
            count = end;
        }
    }
    count
}

/// Number of the smallest packs to merge so that each pack left has at least twice the size of the one before.
fn broken_progression(sizes: &[u64]) -> usize {
    let doubles = |pair: &[u64]| pair[0].saturating_mul(2) <= pair[1];
    let mut count = sizes.windows(2).rposition(|pair| !doubles(pair)).map_or(0, |at| at + 2);
    let mut merged: u64 = sizes[..count].iter().sum();
    for &size in &sizes[count..] {
        if doubles(&[merged, size]) {
            break;
        }
        merged = merged.saturating_add(size);
        count += 1;
    }
    count
}

/// Number of the class: sizes from `4^n` to below `4^(n+1)` bytes.
fn class(bytes: u64) -> u32 {
    bytes.max(1).ilog2() / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of packs that only have sizes.
    #[derive(Default)]
    struct Packs {
        packs: Vec<PackInfo>,
        made: u32,
        copied: u64,
        merges: u32,
        most: usize,
    }

    impl Packs {
        fn save(&mut self, bytes: u64) {
            self.made += 1;
            let name = crate::hash_object(crate::Kind::Blob, &self.made.to_be_bytes()).unwrap();
            self.packs.push(PackInfo { name, bytes, objects: 1, ours: true });
            let plan = plan_merge(&self.packs);
            if !plan.is_empty() {
                assert!(plan.len() >= 2);
                let (merged, kept): (Vec<PackInfo>, Vec<PackInfo>) =
                    self.packs.iter().partition(|pack| plan.contains(&pack.name));
                let bytes = merged.iter().map(|pack| pack.bytes).sum();
                self.packs = kept;
                self.packs.push(PackInfo { name, bytes, objects: 1, ours: true });
                self.copied += bytes;
                self.merges += 1;
            }
            self.most = self.most.max(self.packs.len());
        }

        fn total(&self) -> u64 {
            self.packs.iter().map(|pack| pack.bytes).sum()
        }
    }

    /// Sizes as a run of small saves has them: the same at each run, spread over a factor of eight.
    fn uneven(number: u64) -> u64 {
        4_000 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 28_000
    }

    #[test]
    fn a_thousand_saves_leave_few_packs_and_are_copied_few_times() {
        for size in [|_| 11_500, uneven] {
            let mut packs = Packs::default();
            packs.save(230_000_000);
            let first = packs.total();
            for number in 0..1000 {
                packs.save(size(number));
            }
            assert!(packs.most <= 24, "{} packs", packs.most);
            assert!(packs.copied <= 6 * (packs.total() - first), "{} of {}", packs.copied, packs.total() - first);
            assert!(packs.merges <= 200, "{} merges", packs.merges);
        }
    }

    #[test]
    fn what_a_large_first_save_published_is_not_copied_by_small_ones() {
        for gigabytes in [1, 10, 100] {
            let mut packs = Packs::default();
            while packs.total() < gigabytes << 30 {
                packs.save(LARGE.max(packs.total() / 3));
            }
            let first = packs.total();
            for number in 0..1000 {
                packs.save(uneven(number));
            }
            assert!(packs.most <= 50, "{} packs", packs.most);
            assert!(packs.copied <= 6 * (packs.total() - first), "{} of {}", packs.copied, packs.total() - first);
        }
    }

    #[test]
    fn no_sizes_leave_too_many_packs() {
        let mut packs = Packs::default();
        for number in 0..40 {
            packs.save(100 << (number % 30));
        }
        for number in 0..20_000_u64 {
            packs.save(100 + number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (1 << (number % 30)));
        }
        assert!(packs.most <= PACKS_MAX, "{} packs", packs.most);
        assert!(packs.copied <= 16 * packs.total(), "{} of {}", packs.copied, packs.total());
    }

    #[test]
    fn few_packs_and_packs_of_others_are_left_alone() {
        let info = |number: u8, ours| PackInfo { name: ObjectId::from_bytes([number; 20]), bytes: 9, objects: 1, ours };
        let seven: Vec<_> = (0..7).map(|number| info(number, true)).collect();
        assert_eq!(plan_merge(&seven), []);
        let mut strangers = seven.clone();
        strangers.extend((7..200).map(|number| info(number, false)));
        assert_eq!(plan_merge(&strangers), []);
        strangers.push(info(200, true));
        assert_eq!(plan_merge(&strangers).len(), 8);
        assert_eq!(plan_merge(&[]), []);
    }

    #[test]
    fn a_broken_progression_is_merged_up_to_where_it_holds() {
        assert_eq!(broken_progression(&[1, 2, 4, 8]), 0);
        assert_eq!(broken_progression(&[1, 1, 4, 8]), 2);
        assert_eq!(broken_progression(&[3, 3, 7, 100]), 3);
        assert_eq!(broken_progression(&[]), 0);
    }
}
