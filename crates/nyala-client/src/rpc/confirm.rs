// SPDX-License-Identifier: Apache-2.0

//! A sync of a name or an attribute says yes only if no metadata server has lost what is to be synced.
//!
//! **Failure model.** A metadata server loses power after it has acknowledged a change, comes back without it, and answers the
//! sync truthfully: all that it knows is on disk. Its replies name its run (`rpc::logic::acknowledged`): after one of a
//! later run it is asked how much of the earlier one is left, and whoever syncs what was lost is told so with EIO,
//! once. A server that cannot be asked now makes the sync fail as one that cannot be reached does. What other clients
//! did, and lost, is theirs to hear of.

use crate::error::{Error, Result};
use crate::rpc::cluster::Cluster;
use crate::rpc::failure::unexpected_reply;
use crate::rpc::logic::acknowledged::LogMark;
use crate::rpc::logic::effects::{ChangedPart, changed};
use crate::rpc::meta::MetaAnswer;
use nyala_wire::meta::{MetaOp, MetaReply};
use nyala_wire::{InodeId, TargetId};
use std::sync::Arc;

const ASK: &str = "ask what a metadata server has lost";

impl Cluster {
    /// A metadata server has done this.
    pub(crate) fn note_acknowledged(&self, target: TargetId, mark: LogMark, op: &MetaOp, reply: &MetaReply) {
        if op.is_change() || matches!(op, MetaOp::Sync) {
            self.acknowledged.lock().heard(target, mark, changed(op, reply));
        }
    }

    /// It concerned this inode too, which the operation does not name.
    pub(crate) fn note_also_changed(&self, answer: &MetaAnswer, inode: Option<InodeId>) {
        self.acknowledged.lock().heard(answer.target, answer.mark, inode.map(|inode| (inode, ChangedPart::Other)));
    }

    /// A metadata server's answer gave a file's content in place of this client's own.
    pub(crate) fn note_reloaded(&self, answer: &MetaAnswer, inode: InodeId) {
        self.acknowledged.lock().reloaded(answer.target, answer.mark.run, inode);
    }

    /// After a sync: what this client did to an inode before is on disk, unless it is lost.
    pub(crate) async fn confirm(self: &Arc<Cluster>, inode: InodeId) -> Result<()> {
        self.settle_doubts(Some(inode)).await?;
        let lost = self.acknowledged.lock().take_lost(inode);
        lost.map_or(Ok(()), |target| Err(lost_change(inode, target)))
    }

    /// The same of all that this client did.
    pub(crate) async fn confirm_all(self: &Arc<Cluster>) -> Result<()> {
        self.settle_doubts(None).await?;
        let lost = self.acknowledged.lock().any_lost();
        lost.map_or(Ok(()), |(inode, target)| Err(lost_change(inode, target)))
    }

    async fn settle_doubts(self: &Arc<Cluster>, inode: Option<InodeId>) -> Result<()> {
        let doubtful = self.acknowledged.lock().doubtful(inode);
        for (target, run) in doubtful {
            match self.meta_at(ASK, MetaOp::Survived { run }, target).await? {
                MetaReply::Position(position) => self.acknowledged.lock().survived(target, run, position),
                _ => return Err(unexpected_reply(ASK)),
            }
        }
        Ok(())
    }
}

fn lost_change(inode: InodeId, target: TargetId) -> Error {
    let error = Error::TakenBack { inode, target };
    tracing::error!(%error);
    error
}
