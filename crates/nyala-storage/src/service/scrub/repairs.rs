// SPDX-License-Identifier: Apache-2.0

//! Damaged pieces: whose they are, and their repair. Failure model: see the parent module.

use super::asks::Asks;
use crate::scrub::logic::reason::Reason;
use crate::scrub::{Copies, Owner, repair};
use crate::service::queue::{Outcome, Task, mistake};
use crate::service::target::Target;
use nyala_wire::walk::{WalkAt, WalkPiece};
use nyala_wire::{DataLocation, GroupId, TargetId, WireError};

/// A target, and the way to those who can help it.
#[derive(Clone, Copy)]
pub(super) struct Repairs<'a> {
    pub id: TargetId,
    pub target: &'a Target,
    pub asks: &'a Asks,
}

/// A damaged piece of a mirrored file, and its group.
struct Mirrored<'a> {
    at: Repairs<'a>,
    group: GroupId,
    piece: WalkAt,
}

impl Copies for Mirrored<'_> {
    type Error = WireError;

    async fn replace(&self, offset: u64, len: u32) {
        self.at.asks.replace(self.group, self.piece.file, (offset, len), self.at.id).await;
    }

    async fn bad(&self) -> Result<u64, WireError> {
        self.at.piece(self.piece).await.map(|piece| piece.bad)
    }
}

impl Repairs<'_> {
    /// A piece as it is on the disk now; without data if there is none.
    pub async fn piece(self, at: WalkAt) -> Result<WalkPiece, WireError> {
        match self.target.call(Task::Piece { at, verify: true }).await? {
            Outcome::Piece(piece) => Ok(piece.unwrap_or_else(|| WalkPiece::empty(at))),
            _ => Err(mistake()),
        }
    }

    /// Has what is bad in a piece repaired: blocks that were, blocks that are after it, and why. Nothing is bad of a file that does not
    /// exist any more.
    pub async fn judge(self, piece: &WalkPiece) -> ((u64, u64), Reason) {
        let repaired = if piece.bad == 0 { None } else { self.repair(piece).await };
        let Some((left, reason)) = repaired else { return ((0, 0), Reason::NotKnown) };
        if left != 0 {
            let WalkAt { file, offset } = piece.at;
            tracing::error!(
                target_id = %self.id, inode = %file.inode, index = file.index, offset, blocks = left.count_ones(),
                why = reason.describe(), "a scrub found damage that is not repaired"
            );
        }
        ((piece.bad, left), reason)
    }

    /// Repairs a piece; the blocks that are bad after it, and why. `None`: its file does not exist any more.
    async fn repair(self, piece: &WalkPiece) -> Option<(u64, Reason)> {
        let file = piece.at.file;
        match self.asks.owner(file).await {
            Ok(Owner::Gone) => None,
            Ok(Owner::At(DataLocation::Group(group))) => {
                let left = repair(&Mirrored { at: self, group, piece: piece.at }, piece).await;
                Some((left.unwrap_or(piece.bad), Reason::NoGoodCopy))
            }
            Ok(Owner::At(DataLocation::Target(target))) if target == self.id => Some((piece.bad, Reason::NotMirrored)),
            Ok(Owner::At(DataLocation::Target(_)) | Owner::Unknown) => Some((piece.bad, Reason::NoPlace)),
            Err(error) => {
                tracing::warn!(target_id = %self.id, inode = %file.inode, %error, "whose damaged data is, is not known");
                Some((piece.bad, Reason::NotKnown))
            }
        }
    }
}
