// SPDX-License-Identifier: Apache-2.0

//! The way back from whole stripes that no server knows of, or that cannot go on: to where the file can be written to.
//!
//! **Failure model.** The file's gate is held, and its exclusive delegation; programs go on writing behind what has gone out, and what they write waits.
//! Up to as many targets as there is parity may be away, or have lost what they had: what they had is computed. Where more have, what was written is
//! lost, and the file's handles say so. What is copied has to be there before its server hears of it, as with any move
//! ([`crate::file::move_data`]). It hears of the stripes before, without counting any, and removes them with everything else that was moved; if it does not
//! take that, they are cut in the background. What arrives there later lies where no layout has it, and `nyala fsck` finds it: the new layout's names
//! come after theirs.

use crate::error::{Error, Result};
use crate::file::logic::stripes;
use crate::file::move_copy::Move;
use crate::file::move_data::move_to;
use crate::file::move_purpose::{Purpose, Yielding};
use crate::file::ops::FileOps;
use crate::file::read_encoded::NOWHERE;
use crate::file::state::migration::InlineMigration;
use crate::file::state::{File, stripe_writes};
use crate::rpc::bound::Bound;
use crate::writeback::logic::unsynced::{Unsynced, Written};
use crate::writeback::owner::MovesBack;
use nyala_wire::meta::{Commit, EncodedData, MetaOp, MetaReply, Want};
use nyala_wire::{InodeId, Layout, Pattern, SessionId};
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// A sync that takes longer is not waited for: what it would have on disk can be computed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

impl MovesBack for FileOps {
    fn leave_stripes(self: Arc<Self>, file: Arc<File>) -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
        Box::pin(async move { leave(&self, &file).await })
    }
}

/// What is to be moved.
struct Stored {
    layout: Arc<Layout>,
    /// Its server knows the layout.
    acknowledged: bool,
    /// What targets said of writes that were not synced since.
    unsynced: Written,
    size: u64,
    session: SessionId,
}

async fn leave(ops: &Arc<FileOps>, file: &Arc<File>) -> Result<()> {
    let Some(Stored { layout, acknowledged, unsynced, size, session }) = stored(file).await else { return Ok(()) };
    let Some(code) = layout.encoded() else { return Ok(()) };
    let mut from = (*layout).clone();
    for index in doubtful(ops, file.inode, &layout, unsynced).await {
        from.targets[layout.stripe(index) as usize] = NOWHERE;
    }
    let to = stripes::destination(&ops.cluster.maps.view().map, &layout, (Pattern::Mirror, code), Vec::new())?;
    let to = ops.cluster.move_targets(file.inode, &to).await?;
    // Behind the names of these stripes, whether its server has heard of them or not.
    let to = Arc::new(Layout { moves: layout.moves.wrapping_add(1), ..to });
    let (unsynced, yielding) = (Unsynced::default(), Yielding::new(Purpose::Rescue));
    let mut work = Move { ops, file, session, from: Arc::new(from), to: to.clone(), size, unsynced, yielding };
    work.begin().await?;
    let copied = work.copy(&|_| {}).await;
    work.finish(copied).await?;
    let removed = acknowledged || acknowledge(ops, file, &layout, session).await;
    move_to(ops, file, &to, session).await?;
    let now_ms = ops.ctx.now_ms();
    {
        let mut state = file.state.lock();
        if state.session() != session || state.stripes().writing().is_none() {
            return Err(Error::DelegationLost { inode: file.inode });
        }
        stripe_writes::moved_back(&mut state, (*to).clone(), size, now_ms);
    }
    if !removed {
        let (ops, file) = (ops.clone(), file.clone());
        ops.clone().ctx.spawn(async move {
            // why ignored: `nyala fsck` finds what stays.
            let _ = ops.writeback.cut(&file, &layout, 0, session).await;
        });
    }
    Ok(())
}

/// Has the file's server know where its stripes are, of which none counts yet: then it removes them when the data is elsewhere, also where a target is
/// away. Whether it does.
async fn acknowledge(ops: &Arc<FileOps>, file: &Arc<File>, layout: &Layout, session: SessionId) -> bool {
    let (inode, spilled) = (file.inode, file.state.lock().migration().map(InlineMigration::version));
    let encoded = Some(Box::new(EncodedData { layout: layout.clone(), end: 0 }));
    let op = MetaOp::Commit(Commit { inode, spilled, encoded, ..Commit::default() });
    match ops.cluster.meta_bound("say where new data is", op, Want::PINNED, Bound::new(inode, session)).await {
        Ok(answer) if matches!(answer.reply, MetaReply::Attr(_)) => {
            let mut state = file.state.lock();
            if spilled.is_some() {
                state.end_migration();
            }
            state.stripes_mut().acknowledged();
            true
        }
        _ => false,
    }
}

/// Indices of what was written that is not on disk, or cannot be asked soon whether it is.
async fn doubtful(ops: &Arc<FileOps>, inode: InodeId, layout: &Arc<Layout>, written: Written) -> BTreeSet<u16> {
    let mut syncs = JoinSet::new();
    for (index, noted) in written {
        let (ops, layout) = (ops.clone(), layout.clone());
        syncs.spawn(async move {
            let written = Written::from([(index, noted)]);
            let synced = ops.writeback.sync_indices(inode, &layout, &written);
            let certain = tokio::time::timeout(ANSWER_TIMEOUT, synced).await;
            (!certain.is_ok_and(|synced| synced.is_ok_and(|synced| synced.is_certain()))).then_some(index)
        });
    }
    let mut doubtful = BTreeSet::new();
    while let Some(done) = syncs.join_next().await {
        doubtful.extend(done.ok().flatten());
    }
    doubtful
}

/// Waits until no stripe is under way.
async fn stored(file: &Arc<File>) -> Option<Stored> {
    loop {
        let changed = file.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        {
            let state = file.state.lock();
            let stripes = state.stripes().writing()?;
            if !stripes.is_any_under_way() {
                let (layout, session) = (state.layout()?.clone(), state.session());
                let (unsynced, size) = (stripes.unsynced().clone(), stripes.stored());
                return Some(Stored {
                    layout,
                    acknowledged: state.stripes().is_acknowledged(),
                    unsynced,
                    size,
                    session,
                });
            }
        }
        changed.await;
    }
}
