// SPDX-License-Identifier: Apache-2.0

//! Compares two members of a mirror group while applications go on. Failure model: see the parent module.
//!
//! Both are walked in step; what differs is looked at again. A block counts as different when both members have
//! the same two things in it at two looks, and between the looks the primary has said that nothing is under way: a write
//! that was on its way at the first look is on both members at the second.

use super::Look;
use super::owner::Others;
use crate::exit::Failure;
use nyala_wire::map::MemberState;
use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::{PIECE_BLOCKS, WalkAt, WalkPiece, runs};
use nyala_wire::{GroupId, TargetId};
use serde::Serialize;
use std::time::Duration;

/// Looks at a place that changes all the time.
const LOOKS: u32 = 10;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);
/// Different places that are listed; more are only counted.
const LISTED: usize = 10_000;

/// A place that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The file, as `entry info` shows it.
    pub inode: String,
    /// The same, as `ls -i` and `find -inum` show it.
    pub inode_number: u64,
    /// Stripe index.
    pub index: u16,
    /// Offset in the chunk file, bytes.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}

/// What a comparison came to.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// The group.
    pub group: GroupId,
    /// The two members, the primary first if it is one of them.
    pub members: [TargetId; 2],
    /// Bytes of the first one that were compared.
    pub bytes: u64,
    /// Bytes that differ.
    pub different_bytes: u64,
    /// Bytes, of both, that do not match their own checksum: `nyala scrub` repairs them.
    pub damaged_bytes: u64,
    /// Bytes that changed at every look.
    pub unsettled_bytes: u64,
    /// Why it was not compared to the end.
    pub error: Option<String>,
    /// Places, the first ones.
    pub differences: Vec<Difference>,
}

/// Compares two members.
pub async fn compare(look: &Look, group: GroupId, members: [TargetId; 2], verify: bool, rate: u64) -> Compared {
    let mut compared = Compared {
        group,
        members,
        bytes: 0,
        different_bytes: 0,
        damaged_bytes: 0,
        unsettled_bytes: 0,
        error: None,
        differences: Vec::new(),
    };
    if let Err(failure) = walk(look, &mut compared, verify, rate).await {
        compared.error = Some(failure.message);
    }
    compared
}

async fn walk(look: &Look, compared: &mut Compared, verify: bool, rate: u64) -> Result<(), Failure> {
    let [one, other] = compared.members;
    let (mut a, mut b) = (look.walk(one, verify, rate), look.walk(other, verify, rate));
    let mut others = Others::default();
    loop {
        let (of_a, of_b) = (a.peek().await?.map(|piece| piece.at), b.peek().await?.map(|piece| piece.at));
        compared.bytes = a.bytes;
        let Some(at) = [of_a, of_b].into_iter().flatten().min() else { return Ok(()) };
        let empty = || WalkPiece::empty(at);
        let in_a = if of_a == Some(at) { a.take().await?.unwrap_or_else(empty) } else { empty() };
        let in_b = if of_b == Some(at) { b.take().await?.unwrap_or_else(empty) } else { empty() };
        compared.damaged_bytes += u64::from(in_a.bad.count_ones() + in_b.bad.count_ones()) * BLOCK_BYTES;
        let different = differing(&in_a, &in_b);
        // A file that is not mirrored is on one of them only.
        let alone = in_a.present == 0 || in_b.present == 0;
        if different == 0 || (alone && others.has(look, at.file, compared.group).await?) {
            continue;
        }
        look_again(look, compared, in_a, in_b).await?;
    }
}

/// A bit for each block that reads differently.
fn differing(a: &WalkPiece, b: &WalkPiece) -> u64 {
    let (a, b) = (a.all_checksums(), b.all_checksums());
    (0..PIECE_BLOCKS as usize).filter(|slot| a[*slot] != b[*slot]).fold(0, |bits, slot| bits | 1 << slot)
}

async fn look_again(look: &Look, compared: &mut Compared, a: WalkPiece, b: WalkPiece) -> Result<(), Failure> {
    let ([one, other], at) = (compared.members, a.at);
    let (mut a, mut b, mut open) = (a, b, 0);
    for _ in 0..LOOKS {
        tokio::time::sleep(PAUSE).await;
        look.client.settled(compared.group, at.file).await?;
        let (now_a, now_b) = (look.again(one, at, false).await?, look.again(other, at, false).await?);
        still_good(look, compared)?;
        open = differing(&now_a, &now_b);
        if open & (differing(&a, &now_a) | differing(&b, &now_b)) == 0 {
            // Also when nothing differs any more.
            report(compared, at, open);
            return Ok(());
        }
        (a, b) = (now_a, now_b);
    }
    compared.unsettled_bytes += u64::from(open.count_ones()) * BLOCK_BYTES;
    Ok(())
}

fn report(compared: &mut Compared, at: WalkAt, blocks: u64) {
    for (first, count) in runs(blocks) {
        let (offset, length) = (at.offset + first * BLOCK_BYTES, count * BLOCK_BYTES);
        compared.different_bytes += length;
        if compared.differences.len() < LISTED {
            let (inode, index) = (at.file.inode, at.file.index);
            let difference = Difference { inode: inode.to_string(), inode_number: inode.0, index, offset, length };
            compared.differences.push(difference);
        }
    }
}

/// Members that missed something are no longer comparable.
fn still_good(look: &Look, compared: &Compared) -> Result<(), Failure> {
    let map = look.client.map();
    let group = map.group(compared.group);
    let good = |target: &TargetId| group.and_then(|group| group.state(*target)) == Some(MemberState::Good);
    match compared.members.iter().find(|target| !good(target)) {
        Some(target) => Err(Failure::failed(format!("target {target} is no longer a good member of the group"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_the_same_does_not_differ() {
        let zeros = nyala_wire::checksum::crc32c_zero_padded(&[]);
        let empty = WalkPiece::empty(WalkAt::default());
        let with = |present, checksums| WalkPiece { present, checksums, ..empty.clone() };
        assert_eq!(differing(&empty, &with(1, vec![zeros])), 0);
        assert_eq!(differing(&with(0b11, vec![5, 6]), &with(0b110, vec![6, 7])), 0b101);
        assert_eq!(differing(&with(0b11, vec![5, 6]), &empty), 0b11);
    }
}
