// SPDX-License-Identifier: Apache-2.0

//! Delegations that this client gives back by itself: it has too many, or their server is silent.
//!
//! **Failure model.** One listing with attributes brings as many as the directory has names, a million perhaps. What nobody above keeps anything of
//! goes back at once; of the rest the layer above has to forget something first, which is waited for by a bounded number at a time: each takes
//! kilobytes. Until its turn an inode can be used as before. Some may take for ever (what was written cannot be sent): the others of the same batch
//! go on in the places that are left, and what can go at once goes whatever the queue does.

use super::revocation::Revocations;
use crate::delegation::logic::delegations::Revoked;
use nyala_wire::meta::DelegationMode;
use nyala_wire::{InodeId, TargetId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Semaphore;

/// Delegations for which the layer above is waited for at the same time.
const MAX_WAITING: usize = 256;

/// What is waited for.
pub(super) struct SurplusQueue {
    /// There is a batch that has not begun wholly.
    under_way: AtomicBool,
    places: Arc<Semaphore>,
}

impl Default for SurplusQueue {
    fn default() -> Self {
        SurplusQueue { under_way: AtomicBool::new(false), places: Arc::new(Semaphore::new(MAX_WAITING)) }
    }
}

impl Revocations {
    /// Delegations beyond the limit go. Runs on the client's own thread.
    pub(crate) fn let_surplus_go(self: &Arc<Revocations>) {
        let limit = self.ctx.config.max_kept_inodes;
        if self.delegations.shards().shared.held() <= limit {
            return;
        }
        let surplus = self.delegations.surplus(limit - limit / 16);
        let (later, at_once): (Vec<InodeId>, Vec<InodeId>) =
            surplus.into_iter().partition(|inode| self.has_to_be_waited_for(*inode));
        at_once.into_iter().for_each(|inode| self.begin_to_let_go(inode));
        if later.is_empty() || self.surplus.under_way.swap(true, Ordering::AcqRel) {
            return;
        }
        let revocations = self.clone();
        tokio::spawn(async move {
            for inode in later {
                let place = revocations.surplus.places.clone().acquire_owned().await;
                if revocations.ask_back(inode) {
                    let revocations = revocations.clone();
                    tokio::spawn(async move {
                        revocations.let_go(inode, true).await;
                        drop(place);
                    });
                }
            }
            revocations.surplus.under_way.store(false, Ordering::Release);
        });
    }

    /// Servers that were silent for too long may have given what they lent to others.
    pub(crate) fn let_silent_go(self: &Arc<Revocations>) {
        let now_ms = self.ctx.now_ms();
        let shards = self.delegations.shards();
        let targets = shards.shared.silent(now_ms);
        let of = |target| shards.each().flat_map(move |shard| shard.of_server(target));
        let silent: Vec<InodeId> = targets.into_iter().flat_map(of).collect();
        if let Some(first) = silent.first() {
            tracing::warn!(delegations = silent.len(), inode = %first, "a metadata server is silent: its delegations are invalid");
        }
        silent.into_iter().for_each(|inode| self.begin_to_let_go(inode));
    }

    /// Whether something has to happen before it can go: something is kept of it above, or may have been written.
    fn has_to_be_waited_for(&self, inode: InodeId) -> bool {
        let kept_above = self.delegations.listener().is_some() && self.delegations.lock(inode).covers(inode);
        kept_above || self.files.get(inode).is_some()
    }

    fn begin_to_let_go(self: &Arc<Revocations>, inode: InodeId) {
        // Asked back first: from here on nothing new is kept under it.
        if !self.ask_back(inode) {
            return;
        }
        if self.has_to_be_waited_for(inode) || !self.give_up(inode, DelegationMode::None, None, true) {
            let revocations = self.clone();
            tokio::spawn(async move { revocations.let_go(inode, true).await });
        }
    }

    /// Whether it was held, and is on its way back from now on.
    fn ask_back(&self, inode: InodeId) -> bool {
        let target = self.cluster.maps.view().map.slot_target(inode.slot());
        target.is_some_and(|target| self.revoke_wholly(inode, target) == Revoked::Started)
    }

    /// This client itself wants a delegation gone, also one that was on its way back in part.
    pub(super) fn revoke_wholly(&self, inode: InodeId, target: TargetId) -> Revoked {
        let mut shard = self.delegations.lock(inode);
        let seq = shard.seq(inode);
        shard.revoke(inode, target, DelegationMode::None, seq, self.ctx.now_ms())
    }
}
