// SPDX-License-Identifier: Apache-2.0

//! Mirrors agree in the end: the members of a group have the same chunk files with the same bytes, as their stores give them out.

use nyala_store::testing::Machine as Disk;
use nyala_wire::storage::BLOCK_BYTES;
use std::collections::BTreeSet;

/// Blocks that a store has a checksum of: file and offset. Any other reads as zeros, whatever the file has there (SEMANTICS and the
/// failure model of `nyala_storage::chunk_store`: data whose checksums were lost with the power).
pub type Blocks = BTreeSet<(String, u64)>;

/// What two members differ in. Files whose inode begins with `plain` are not mirrored: members may have any of them. A file that is
/// not there is as good as one of no bytes: the latter stays where a creation is taken back that the other member never saw.
pub fn judge(one: (&Disk, &Blocks), other: (&Disk, &Blocks), plain: &[String]) -> Option<String> {
    let names = |disk: &Disk| {
        let files = disk.files().into_iter().filter(|(name, _)| !plain.iter().any(|plain| name.starts_with(plain)));
        files.filter(|(_, bytes)| *bytes > 0).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let (ones, others) = (names(one.0), names(other.0));
    if ones != others {
        return Some(format!("one has {ones:?}, the other {others:?}"));
    }
    ones.into_iter().find_map(|name| {
        let (first, second) = (shown(one, &name)?, shown(other, &name)?);
        if first == second {
            return None;
        }
        let at = first.iter().zip(&second).position(|(one, other)| one != other);
        Some(format!("{name}: {} and {} bytes, which differ at {at:?}", first.len(), second.len()))
    })
}

/// A file as its store gives it out.
fn shown((disk, blocks): (&Disk, &Blocks), name: &str) -> Option<Vec<u8>> {
    let mut bytes = disk.read(name)?;
    for (block, bytes) in bytes.chunks_mut(BLOCK_BYTES as usize).enumerate() {
        if !blocks.contains(&(name.to_owned(), block as u64 * BLOCK_BYTES)) {
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
        (disk, files.iter().map(|(name, _)| ((*name).to_owned(), 0)).collect())
    }

    fn judged(one: &(Disk, Blocks), other: &(Disk, Blocks), plain: &str) -> Option<String> {
        let plain: Vec<String> = Some(plain.to_owned()).into_iter().filter(|plain| !plain.is_empty()).collect();
        judge((&one.0, &one.1), (&other.0, &other.1), &plain)
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
        zeros.1.clear();
        assert!(judged(&one, &zeros, "").is_some());
        one.1.clear();
        assert_eq!(judged(&one, &zeros, ""), None, "neither has a checksum");
        let other = disk(&[("0001-2.0", 2)]);
        assert!(judged(&one, &other, "").is_some(), "one gives out its bytes, the other zeros");
    }
}
