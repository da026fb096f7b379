// SPDX-License-Identifier: Apache-2.0

//! Chunk files of the members of a mirror group, by the stored checksums of their blocks: no data is read, none is moved. Failure model:
//! see the parent module; two looks at what differs: see `crate::walk`.

use super::pairs::Pairs;
use crate::fsck::ask::Ask;
use crate::fsck::progress::Progress;
use crate::fsck::report::Unchecked;
use crate::walk::{Difference, Look, compare as compare_two};
use nyala_fsck::mirrors::ChunkDiffers;
use nyala_wire::InodeId;
use nyala_wire::storage::ChunkFileId;

/// Bytes a second whose checksums are compared: a thousandth of it is read.
const RATE: u64 = 4 << 30;

/// Compares each member with the primary.
pub async fn compare(
    ask: &Ask,
    pairs: &Pairs,
    progress: &mut Progress,
    differ: &mut Vec<ChunkDiffers>,
    unchecked: &mut Vec<Unchecked>,
) {
    let look = Look { client: ask.client.clone(), pool: ask.pool.clone(), walked: Default::default() };
    for member in &pairs.members {
        let compared = compare_two(&look, pairs.group, [pairs.primary, *member], false, RATE).await;
        progress.compared(0, compared.bytes);
        let found = compared.differences.iter().fold(Vec::new(), |found, place| by_file(found, pairs, *member, place));
        differ.extend(found);
        if let Some(error) = compared.error {
            unchecked.push(Unchecked { target: *member, error: format!("compared with its mirror: {error}") });
        }
        if compared.unsettled_bytes > 0 {
            let (group, bytes) = (pairs.group, compared.unsettled_bytes);
            tracing::info!(%group, %member, bytes, "in use, and not compared");
        }
    }
}

/// Takes in a place that differs: places of one chunk file follow each other.
fn by_file(
    mut found: Vec<ChunkDiffers>,
    pairs: &Pairs,
    member: nyala_wire::TargetId,
    place: &Difference,
) -> Vec<ChunkDiffers> {
    let file = ChunkFileId { inode: InodeId(place.inode_number), index: place.index };
    let range = place.offset..place.offset + place.length;
    match found.last_mut().filter(|last| last.file == file) {
        Some(last) => match last.ranges.last_mut().filter(|before| before.end == range.start) {
            Some(before) => before.end = range.end,
            None => last.ranges.push(range),
        },
        None => {
            let (group, primary) = (pairs.group, pairs.primary);
            found.push(ChunkDiffers { group, primary, member, file, ranges: vec![range] });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::{GroupId, TargetId};

    #[test]
    fn places_of_a_chunk_file_are_one_finding() {
        let pairs = Pairs { group: GroupId(1), primary: TargetId(101), members: vec![TargetId(201)] };
        let place = |inode_number, offset, length| {
            let inode = InodeId(inode_number).to_string();
            Difference { inode, inode_number, index: 0, offset, length }
        };
        let places = [place(7, 0, 4096), place(7, 4096, 8192), place(7, 40_960, 4096), place(8, 0, 4096)];
        let found = places.iter().fold(Vec::new(), |found, place| by_file(found, &pairs, TargetId(201), place));
        assert_eq!(found.iter().map(|differ| differ.file.inode.0).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(found[0].ranges, [0..12_288, 40_960..45_056]);
    }
}
