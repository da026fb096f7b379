// SPDX-License-Identifier: Apache-2.0

//! The repair of a damaged piece of a mirrored chunk file: `nyala scrub` and the services do the same.
//!
//! **Failure model.** A repair goes by the group's primary, in turn with the changes of the file. It may not be begun, or not work: what tells is
//! another look at the disk. A block that no member has any more must not keep its neighbours damaged.

use nyala_wire::storage::BLOCK_BYTES;
use nyala_wire::walk::{WalkPiece, runs};

/// A damaged piece, and the other members that may have it.
pub trait Copies {
    /// Why it could not be looked at.
    type Error;

    /// Has so many bytes from an offset in the chunk file on replaced by what a good member has.
    fn replace(&self, offset: u64, len: u32) -> impl Future<Output = ()>;

    /// Reads the piece from the disk: blocks that are bad now.
    fn bad(&self) -> impl Future<Output = Result<u64, Self::Error>>;
}

/// Repairs what is bad in a piece; gives the blocks that are bad after it.
pub async fn repair<C: Copies>(copies: &C, piece: &WalkPiece) -> Result<u64, C::Error> {
    replace(copies, piece, runs(piece.bad)).await;
    let left = copies.bad().await?;
    if left == 0 {
        return Ok(0);
    }
    replace(copies, piece, (0..64).filter(|block| left >> block & 1 == 1).map(|block| (block, 1))).await;
    copies.bad().await
}

async fn replace<C: Copies>(copies: &C, piece: &WalkPiece, places: impl Iterator<Item = (u64, u64)>) {
    for (first, count) in places {
        // A piece has 64 blocks.
        copies.replace(piece.at.offset + first * BLOCK_BYTES, (count * BLOCK_BYTES) as u32).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::walk::WalkAt;
    use parking_lot::Mutex;

    /// A disk with bad blocks, of which the other member lacks some: a range with one of those is not replaced at all.
    struct Fake {
        bad: Mutex<u64>,
        lacks: u64,
        asked: Mutex<Vec<(u64, u32)>>,
    }

    impl Copies for Fake {
        type Error = ();

        async fn replace(&self, offset: u64, len: u32) {
            self.asked.lock().push((offset, len));
            let (first, count) = (offset / BLOCK_BYTES % 64, u64::from(len) / BLOCK_BYTES);
            let range = (first..first + count).fold(0, |bits, block| bits | 1 << block);
            if range & self.lacks == 0 {
                *self.bad.lock() &= !range;
            }
        }

        async fn bad(&self) -> Result<u64, ()> {
            Ok(*self.bad.lock())
        }
    }

    fn repaired(bad: u64, lacks: u64) -> (u64, usize) {
        let fake = Fake { bad: Mutex::new(bad), lacks, asked: Mutex::default() };
        let piece = WalkPiece { bad, ..WalkPiece::empty(WalkAt { offset: 1 << 18, ..WalkAt::default() }) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let left = runtime.block_on(repair(&fake, &piece)).unwrap();
        (left, fake.asked.into_inner().len())
    }

    #[test]
    fn runs_are_replaced_at_once_and_neighbours_of_what_nobody_has_one_by_one() {
        assert_eq!(repaired(0b1110011, 0), (0, 2));
        assert_eq!(repaired(u64::MAX, 0), (0, 1));
        assert_eq!(repaired(0b1110011, 0b0100000), (0b0100000, 2 + 3));
    }
}
