// SPDX-License-Identifier: Apache-2.0

//! Delegations that this client gives back by itself: it has too many, or their server is silent.
//!
//! **Failure model.** One listing with attributes brings as many as the directory has names, a million perhaps. What nobody above keeps anything of
//! goes back at once; of the rest the layer above has to forget something first, which is waited for by a bounded number at a time: each takes
//! kilobytes. Until its turn an inode can be used as before. Some may take for ever (what was written cannot be sent): the others of the same batch
//! go on in the places that are left, and what can go at once goes whatever the queue does.

use super::revocation::Revocations;
use crate::delegation::logic::delegations::Revoked;
use nyala_wire::InodeId;
use nyala_wire::meta::DelegationMode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// Delegations for which the layer above is waited for at the same time.
const MAX_WAITING: usize = 256;

/// While a batch is under way, what else is beyond the limit is looked for so often: a look goes through all that is held.
const LOOK_AGAIN_MS: u64 = 1_000;

/// The owner of what this client gives back by itself.
pub(crate) struct Surplus {
    revocations: Arc<Revocations>,
    /// There is a batch that has not begun wholly.
    under_way: Arc<AtomicBool>,
    looked_ms: AtomicU64,
    places: Arc<Semaphore>,
}

impl Surplus {
    pub(crate) fn new(revocations: Arc<Revocations>) -> Surplus {
        Surplus {
            revocations,
            under_way: Arc::default(),
            looked_ms: AtomicU64::new(0),
            places: Arc::new(Semaphore::new(MAX_WAITING)),
        }
    }

    /// Delegations beyond the limit go. Runs on the client's own thread.
    pub(crate) fn let_surplus_go(&self) {
        let Revocations { ctx, delegations, .. } = &*self.revocations;
        let limit = ctx.config.max_kept_inodes;
        if delegations.shards().shared.held() <= limit || self.has_just_looked(ctx.now_ms()) {
            return;
        }
        let surplus = delegations.surplus(limit - limit / 16);
        let (later, at_once): (Vec<InodeId>, Vec<InodeId>) =
            surplus.into_iter().partition(|inode| self.has_to_be_waited_for(*inode));
        at_once.into_iter().for_each(|inode| self.begin_to_let_go(inode));
        if !later.is_empty() && !self.under_way.swap(true, Ordering::AcqRel) {
            self.let_go_in_turn(later);
        }
    }

    fn has_just_looked(&self, now_ms: u64) -> bool {
        let since_ms = now_ms.saturating_sub(self.looked_ms.load(Ordering::Relaxed));
        let just = self.under_way.load(Ordering::Acquire) && since_ms < LOOK_AGAIN_MS;
        if !just {
            self.looked_ms.store(now_ms, Ordering::Relaxed);
        }
        just
    }

    fn let_go_in_turn(&self, inodes: Vec<InodeId>) {
        let (revocations, under_way, places) = (self.revocations.clone(), self.under_way.clone(), self.places.clone());
        tokio::spawn(async move {
            for inode in inodes {
                let place = places.clone().acquire_owned().await;
                if ask_back(&revocations, inode) {
                    let revocations = revocations.clone();
                    tokio::spawn(async move {
                        revocations.let_go(inode, true).await;
                        drop(place);
                    });
                }
            }
            under_way.store(false, Ordering::Release);
        });
    }

    /// Servers that were silent for too long may have given what they lent to others.
    pub(crate) fn let_silent_go(&self) {
        let Revocations { ctx, delegations, .. } = &*self.revocations;
        let shards = delegations.shards();
        let targets = shards.shared.silent(ctx.now_ms());
        let of = |target| shards.each().flat_map(move |shard| shard.of_server(target));
        let silent: Vec<InodeId> = targets.into_iter().flat_map(of).collect();
        if let Some(first) = silent.first() {
            tracing::warn!(delegations = silent.len(), inode = %first, "a metadata server is silent: its delegations are invalid");
        }
        silent.into_iter().for_each(|inode| self.begin_to_let_go(inode));
    }

    /// Whether something has to happen before it can go: something is kept of it above, or may have been written.
    fn has_to_be_waited_for(&self, inode: InodeId) -> bool {
        let Revocations { delegations, files, .. } = &*self.revocations;
        let kept_above = delegations.listener().is_some() && delegations.lock(inode).covers(inode);
        kept_above || files.get(inode).is_some()
    }

    fn begin_to_let_go(&self, inode: InodeId) {
        let revocations = self.revocations.clone();
        // Asked back first: from here on nothing new is kept under it.
        if !ask_back(&revocations, inode) {
            return;
        }
        if self.has_to_be_waited_for(inode) || !revocations.give_up(inode, DelegationMode::None, None, true) {
            tokio::spawn(async move { revocations.let_go(inode, true).await });
        }
    }
}

/// Whether it was held, and is on its way back from now on.
fn ask_back(revocations: &Revocations, inode: InodeId) -> bool {
    let target = revocations.cluster.maps.view().map.slot_target(inode.slot());
    target.is_some_and(|target| revocations.revoke_wholly(inode, target) == Revoked::Started)
}
