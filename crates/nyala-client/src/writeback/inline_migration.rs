// SPDX-License-Identifier: Apache-2.0

//! Moving inline content to storage without an exclusive delegation: under a claim (`InlineMigration`), of which the
//! server gives one at a time, and no exclusive delegation meanwhile.
//!
//! **Failure model.** Old content that is written late would bury what others wrote after it was moved. So a claim is
//! given up only when the move is over, and one of this client begins only when the last one is known to be given up. A
//! client that dies is fenced before its claim is free. A server that restarts forgets claims: it serves others only when
//! this client has said which moves are still under way (`writeback::logic::migrations`); one that has not begun claims anew.

use crate::error::Result;
use crate::file::state::File;
use crate::rpc::deadline::Deadline;
use crate::rpc::failure::unexpected_reply;
use crate::writeback::direct::Handed;
use crate::writeback::flush::Flush;
use crate::writeback::logic::migrations::Run;
use crate::writeback::owner::Writeback;
use nyala_wire::InodeId;
use nyala_wire::meta::{MetaOp, MetaReply, Owner, Want};
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// The claim on a file; given up, in the background, when dropped.
struct Claim {
    writeback: Arc<Writeback>,
    inode: InodeId,
    run: Option<Run>,
    one: Option<OwnedMutexGuard<()>>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let (writeback, inode, one) = (self.writeback.clone(), self.inode, self.one.take());
        self.writeback.ctx.spawn(async move {
            if let Err(error) =
                writeback.cluster.meta_done("end a move of inline content", MetaOp::Spill { inode, done: true }).await
            {
                tracing::warn!(%inode, %error, "a claim on a file's inline content was not given up");
            }
            drop(one);
        });
    }
}

/// A move under way; over when dropped.
struct Migrating<'a> {
    writeback: &'a Writeback,
    inode: InodeId,
}

impl Drop for Migrating<'_> {
    fn drop(&mut self) {
        self.writeback.migrations.lock().end(self.inode);
    }
}

impl Writeback {
    /// What a claim on the inode is good for.
    fn claims_at(&self, inode: InodeId) -> Option<Run> {
        let server = self.cluster.maps.view().map.slot_target(inode.slot())?;
        let session = self.cluster.session(server);
        Some(Run { server, boot: session.boot(), session: session.id() })
    }

    /// The move begins, unless the claim is no good any more: then it is to be claimed anew.
    fn begin_migration(&self, claim: &Claim) -> Option<Migrating<'_>> {
        let run = claim.run.filter(|run| self.claims_at(claim.inode) == Some(*run))?;
        let began = self.migrations.lock().begin(claim.inode, run);
        began.then_some(Migrating { writeback: self, inode: claim.inode })
    }

    async fn claim(self: &Arc<Writeback>, file: &Arc<File>, want: Want) -> Result<Claim> {
        let (last, moved) = ("another call moves it", file.claiming.clone().lock_owned());
        let one = Some(Deadline::of_call(&self.ctx).wait("move inline content", last, moved).await?);
        let inode = file.inode;
        let claim = Claim { writeback: self.clone(), inode, run: self.claims_at(inode), one };
        let op = MetaOp::Spill { inode, done: false };
        match self.cluster.meta_wanting("move inline content", op, Owner::default(), want).await?.reply {
            MetaReply::Done => Ok(claim),
            _ => Err(unexpected_reply("move inline content")),
        }
    }

    /// Writes `data` and moves the inline content beneath it. `INLINE_CONFLICT`: it is no longer what it was.
    pub(crate) async fn migrate_direct(
        self: &Arc<Writeback>,
        file: &Arc<File>,
        offset: u64,
        data: &[u8],
        how: Handed,
    ) -> Result<()> {
        loop {
            let claim = self.claim(file, how.want).await?;
            let Some(_moving) = self.begin_migration(&claim) else { continue };
            let _gate = file.pass_gate(&self.ctx).await?;
            if !file.state.lock().is_clean() {
                // What this client has under a delegation that is going may be the same content.
                self.flush(file, Flush::default()).await?;
            }
            let reply = self.cluster.look(file.inode).await?;
            let filled = reply.inline.as_ref().is_some_and(|content| !content.data.is_empty());
            if filled && reply.leftovers == Some(true) {
                // Nobody else moves it, so nothing that lies there will be committed.
                self.cut(file, &reply.layout, 0, how.session).await?;
            }
            return self.move_direct(file, &reply, offset, data, how).await;
        }
    }
}
