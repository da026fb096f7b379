// SPDX-License-Identifier: Apache-2.0

//! Where the names of a directory that may be split are.
//!
//! **Failure model.** A directory may be split, grow more fragments, or become whole again between any two requests. A fragment that does
//! not hold a name refuses it; one that is gone is not found, which a name may not be either: then the directory's server says what is
//! the case. While entries are on their way, nobody gets an answer about them.

use crate::context::Context;
use crate::delegation::cache::DelegationCache;
use crate::error::Result;
use crate::listener::CacheListener;
use crate::namespace::forgetting::InNumbersAbove;
use crate::namespace::logic::{Known, SplitDirs};
use crate::rpc::cluster::Cluster;
use crate::rpc::deadline::Deadline;
use crate::rpc::failure::unexpected_reply;
use nyala_wire::fragments::{CookieRange, Fragment};
use nyala_wire::meta::{MetaOp, MetaReply, Owner};
use nyala_wire::{ErrorCode, InodeId};
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;

/// The first pause before a fragment is asked again; they grow from there.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// What is known of fragments, and how to know more.
pub(crate) struct Fragments {
    ctx: Arc<Context>,
    cluster: Arc<Cluster>,
    delegations: Arc<DelegationCache>,
    split: Arc<RwLock<SplitDirs>>,
}

/// Asks again, after longer and longer pauses, until the call has to end.
pub(super) struct Again {
    deadline: Deadline,
    pause: Duration,
}

impl Again {
    pub(super) async fn pause(&mut self, what: &'static str) -> Result<()> {
        if self.deadline.is_over() {
            return Err(self.deadline.error(what, "the directory is being split all the time"));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).clamp(PAUSE, LONGEST_PAUSE);
        Ok(())
    }
}

impl Fragments {
    pub(crate) fn new(ctx: Arc<Context>, cluster: Arc<Cluster>, delegations: Arc<DelegationCache>) -> Fragments {
        Fragments { ctx, cluster, delegations, split: Arc::default() }
    }

    pub(super) fn again(&self) -> Again {
        Again { deadline: Deadline::of_call(&self.ctx), pause: Duration::ZERO }
    }

    /// A layer above that hears of directories only, and of its own root.
    pub(crate) fn in_numbers_above(&self, above: Arc<dyn CacheListener>) -> Arc<dyn CacheListener> {
        let (cluster, split_dirs) = (self.cluster.clone(), self.split.clone());
        Arc::new(InNumbersAbove { above, cluster, split_dirs })
    }

    /// The inode that probably has a name's entry.
    pub(super) fn holder(&self, dir: InodeId, name: &[u8]) -> InodeId {
        self.split.read().holder(dir, name)
    }

    /// The range of cookies that an inode with names of a directory probably has.
    pub(super) fn range(&self, dir: InodeId, at: InodeId) -> CookieRange {
        self.split.read().range(dir, at)
    }

    /// The inode that probably has the entries from a cookie on.
    pub(super) fn holder_at(&self, dir: InodeId, cookie: u64) -> InodeId {
        self.split.read().holder_at(dir, || cookie)
    }

    /// Whether it was split when it was last asked about.
    pub(super) fn was_split(&self, dir: InodeId) -> bool {
        self.split.read().known(dir).is_some()
    }

    /// The fragments of a directory, if they are known to be these now.
    pub(super) fn known_now(&self, dir: InodeId) -> Option<Arc<[Fragment]>> {
        let known = self.split.read().known(dir).cloned()?;
        let stamp = self.delegations.lock(dir).stamp(dir);
        (known.stamp.is_some() && known.stamp == stamp).then_some(known.fragments)
    }

    /// Asks a directory's server for its fragments.
    pub(super) async fn learn(&self, dir: InodeId) -> Result<Arc<[Fragment]>> {
        let what = "ask how a directory is split";
        let stamp = self.delegations.lock(dir).stamp(dir);
        let reply = self.cluster.clone().meta(what, MetaOp::Fragments(dir), Owner::default()).await?;
        let MetaReply::Fragments(fragments) = reply else { return Err(unexpected_reply(what)) };
        let fragments: Arc<[Fragment]> = fragments.into();
        let stamp = stamp.filter(|stamp| self.delegations.lock(dir).stamp(dir) == Some(*stamp));
        self.split.write().learn(dir, Known { fragments: fragments.clone(), stamp });
        Ok(fragments)
    }

    /// Whether a name is looked for elsewhere by now.
    pub(super) async fn has_moved(&self, dir: InodeId, name: &[u8], at: InodeId) -> Result<bool> {
        self.learn(dir).await?;
        Ok(self.holder(dir, name) != at)
    }

    /// Has an empty directory made whole, so that it can be removed.
    pub(super) async fn merge(&self, dir: InodeId) -> Result<()> {
        let reply = self.cluster.clone().meta("make a directory whole", MetaOp::MergeDir(dir), Owner::default()).await;
        match reply {
            // It has been removed meanwhile; who asks for that again hears of it.
            Err(error) if matches!(error.code(), ErrorCode::NOT_FOUND | ErrorCode::STALE) => {}
            other => drop(other?),
        }
        self.split.write().learn(dir, Known { fragments: [].into(), stamp: None });
        Ok(())
    }
}
