// SPDX-License-Identifier: Apache-2.0

//! Mirrors agree in the end: the members of a group have the same chunk files with the same bytes, as their stores give them out, and what a disk
//! damaged on one of them has been replaced by what the other has.

use nyala_store::testing::Machine as Disk;
use nyala_wire::storage::BLOCK_BYTES;
use std::collections::BTreeSet;

/// Blocks that a store has a checksum of: file and offset. Any other reads as zeros, whatever the file has there (SEMANTICS and the
/// failure model of `nyala_storage::chunk_store`: data whose checksums were lost with the power).
#[derive(Default)]
pub struct Blocks {
    pub present: BTreeSet<(String, u64)>,
    /// Those whose bytes have another checksum.
    pub bad: BTreeSet<(String, u64)>,
}

/// A member's chunk files, and what its store says of them.
pub type Member<'a> = (&'a Disk, &'a Blocks);

/// What two members differ in. Of files whose names are not `mirrored` members may have any. A file that is not there is as good as one of no bytes: the latter stays where a creation is taken back that the other member never saw. `damaged`: inodes
/// in which bits flipped. If that hit the only good copy, no member has the block, and says so.
pub fn judge(
    one: Member<'_>,
    other: Member<'_>,
    mirrored: impl Fn(&str) -> bool,
    damaged: &BTreeSet<String>,
) -> Option<String> {
    let names = |disk: &Disk| {
        let files = disk.files().into_iter().filter(|(name, _)| mirrored(name));
        files.filter(|(_, bytes)| *bytes > 0).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (ones, others) = (names(one.0), names(other.0));
    if ones != others {
        return Some(format!("one has {ones:?}, the other {others:?}"));
    }
    ones.into_iter().find_map(|name| {
        let (first, second) = (shown(one, other, &name)?, shown(other, one, &name)?);
        let bad = |(_, blocks): Member<'_>| -> BTreeSet<u64> {
            blocks.bad.iter().filter(|(file, _)| *file == name).map(|(_, offset)| *offset).collect()
        };
        let (bads, others) = (bad(one), bad(other));
        let flipped = damaged.contains(name.split('.').next().unwrap_or_default());
        if bads != others || (!bads.is_empty() && !flipped) {
            return Some(format!(
                "{name}: {bads:?} are damaged at one, {others:?} at the other; bits flipped: {flipped}"
            ));
        }
        if first == second {
            return None;
        }
        let at = first.iter().zip(&second).position(|(one, other)| one != other);
        Some(format!("{name}: {} and {} bytes, which differ at {at:?}", first.len(), second.len()))
    })
}

/// A file as its store gives it out, without the blocks that neither member has.
fn shown((disk, blocks): Member<'_>, (_, others): Member<'_>, name: &str) -> Option<Vec<u8>> {
    let mut bytes = disk.read(name)?;
    for (block, bytes) in bytes.chunks_mut(BLOCK_BYTES as usize).enumerate() {
        let place = (name.to_owned(), block as u64 * BLOCK_BYTES);
        if !blocks.present.contains(&place) || (blocks.bad.contains(&place) && others.bad.contains(&place)) {
            bytes.fill(0);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(files: &[(&str, u8)]) -> (Disk, Blocks) {
        let disk = Disk::new(1);
        for (name, byte) in files {
            disk.disk().create(name, 0).and_then(|file| file.write_at(0, &[*byte; 9])).unwrap();
        }
        let present = files.iter().map(|(name, _)| ((*name).to_owned(), 0)).collect();
        (disk, Blocks { present, bad: BTreeSet::new() })
    }

    fn judged(one: &(Disk, Blocks), other: &(Disk, Blocks), plain: &str) -> Option<String> {
        let mirrored = |name: &str| plain.is_empty() || !name.starts_with(plain);
        judge((&one.0, &one.1), (&other.0, &other.1), mirrored, &BTreeSet::from(["0009-2".to_owned()]))
    }

    #[test]
    fn names_and_bytes_are_compared() {
        let one = disk(&[("0001-2.0", 1), ("0002-2.0", 2)]);
        assert_eq!(judged(&one, &disk(&[("0001-2.0", 1), ("0002-2.0", 2)]), ""), None);
        assert_eq!(judged(&one, &disk(&[("0001-2.0", 1)]), "0002"), None, "what is not mirrored is left out");
        assert!(judged(&one, &disk(&[("0001-2.0", 1)]), "").is_some());
        let empty = disk(&[("0001-2.0", 1), ("0002-2.0", 2)]);
        empty.0.disk().create("0003-2.0", 0).unwrap();
        assert_eq!(judged(&one, &empty, ""), None, "no file and no bytes are the same");
        assert!(judged(&one, &disk(&[("0001-2.0", 1), ("0002-2.0", 3)]), "").is_some());
    }

    #[test]
    fn what_a_store_gives_out_as_zeros_is_zeros() {
        let (mut one, mut zeros) = (disk(&[("0001-2.0", 1)]), disk(&[("0001-2.0", 0)]));
        assert!(judged(&one, &zeros, "").is_some());
        zeros.1.present.clear();
        assert!(judged(&one, &zeros, "").is_some());
        one.1.present.clear();
        assert_eq!(judged(&one, &zeros, ""), None, "neither has a checksum");
        let other = disk(&[("0001-2.0", 2)]);
        assert!(judged(&one, &other, "").is_some(), "one gives out its bytes, the other zeros");
    }

    #[test]
    fn what_flipped_is_healed_unless_nobody_has_it() {
        let flipped = |name: &str, byte| {
            let mut member = disk(&[(name, byte)]);
            member.1.bad.insert((name.to_owned(), 0));
            member
        };
        let good = disk(&[("0009-2.0", 1)]);
        assert!(judged(&good, &flipped("0009-2.0", 3), "").is_some(), "the other one has it");
        assert_eq!(judged(&flipped("0009-2.0", 2), &flipped("0009-2.0", 3), ""), None);
        assert!(judged(&flipped("0001-2.0", 2), &flipped("0001-2.0", 2), "").is_some(), "nobody flipped it");
    }
}
