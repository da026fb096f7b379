// SPDX-License-Identifier: Apache-2.0

//! Whose changes are let in.
//!
//! Every change names the session of the client that accepted it; session 0 is a server's own and taken from servers only, as long as they
//! may order it ([`super::orders`]). What a
//! fence refuses is looked up where the change is done ([`crate::chunk_store`], `mirror::asked`). Here is the other half: a fence
//! that was decided while this service was offline must be known before a client is served again.
//!
//! **Failure model.** Metadata asks every target that its map does not call offline, and does not go on without them. For one that is
//! offline it writes down, durably, that the session is to be fenced there, and then gives away what the session held. So after
//! every time in which management may have called us offline (a start, a lease that ran out) we ask each metadata
//! target of the map what was written down for ours, fence that, and only then take clients' changes of inodes that it serves:
//! until then they get `NOT_READY`. The map that we ask under is at least as new as the one that our lease was granted
//! under, which does not call us offline any more, and metadata answers under that map or a newer one: what it decides afterwards
//! it decides with us. What it decided before is in its answer.
//!
//! A metadata service that is away is waited for: it may have given away delegations before it went. Its files cannot be opened meanwhile
//! anyhow; other metadata targets' files are served. One that is removed from the map is not waited for: nobody serves its inodes.
//! A fenced session's change that was let in before we went offline, and waits for a disk since, is done
//! before the fence, or refused; in both cases before any change of who has its lease now, which is let in only after the fence.

mod ask;

use super::orders::{Orderer, may_order};
use super::target::Target;
use nyala_transport::member::Member;
use nyala_transport::{HandshakeConfig, PeerInfo, Pool, PoolOptions, Role};
use nyala_wire::map::ClusterMap;
use nyala_wire::{ErrorCode, InodeId, MapVersion, NodeId, SessionId, TargetId, WireError};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;

/// Between attempts to hear from a metadata service, and looks at the lease.
const RETRY: Duration = Duration::from_millis(100);

/// Which metadata targets were heard since when.
pub(super) struct Sessions {
    member: Member,
    targets: Arc<HashMap<TargetId, Arc<Target>>>,
    pool: Pool,
    /// The period of the lease ([`Member::lease_period`]) in which all were heard.
    all_heard: AtomicU64,
    /// The last period in which each of them was heard.
    heard: RwLock<HashMap<TargetId, u64>>,
}

impl Sessions {
    pub fn new(
        member: Member,
        targets: Arc<HashMap<TargetId, Arc<Target>>>,
        handshake: HandshakeConfig,
    ) -> Arc<Sessions> {
        let pool = Pool::new(handshake, PoolOptions::default());
        Arc::new(Sessions { member, targets, pool, all_heard: AtomicU64::new(0), heard: RwLock::default() })
    }

    /// May a change of the inode be let in for this session, by a peer that acts on the map `theirs`? Whether the session is fenced is
    /// asked when the change is done.
    pub fn admit(&self, peer: &PeerInfo, theirs: u64, inode: InodeId, session: SessionId) -> Result<(), WireError> {
        if session.0 == 0 {
            return self.admit_order(peer, MapVersion(theirs), inode);
        }
        // In this order: a renewed lease that is seen comes with the period that it begins.
        if !self.member.lease_valid() {
            return Err(ErrorCode::NOT_READY.with("this storage service has lost contact to management"));
        }
        let period = self.member.lease_period();
        if self.all_heard.load(Ordering::Acquire) == period {
            return Ok(());
        }
        let map = self.member.map();
        let known = map.version.0 > 0 && map.version >= self.member.lease().1;
        let heard = |home| self.heard.read().get(&home) == Some(&period);
        match known && map.slot_target(inode.slot()).is_none_or(heard) {
            true => Ok(()),
            false => Err(ErrorCode::NOT_READY.with("this target was away, and asks metadata who was fenced meanwhile")),
        }
    }

    /// A server's own change.
    fn admit_order(&self, peer: &PeerInfo, theirs: MapVersion, inode: InodeId) -> Result<(), WireError> {
        if !matches!(peer.role, Role::Meta | Role::Storage) {
            return Err(ErrorCode::UNAUTHORIZED.with("a client's change names its session; only servers have none"));
        }
        let map = self.member.map();
        let needed = theirs.max(self.member.lease().1);
        if needed > map.version {
            self.member.watch().heard_of(needed);
            return Err(ErrorCode::NOT_READY.with("this storage service does not have the newest cluster map yet"));
        }
        let by = Orderer { role: peer.role, node: NodeId(peer.node_id), map: theirs };
        may_order(&map, by, inode)
    }

    /// Asks whoever was not heard in the present period. Runs until it is dropped.
    pub async fn learn(self: Arc<Sessions>) {
        loop {
            let (map, period) = (self.member.map(), self.member.lease_period());
            // The lease and the map that it was granted under, as at `admit`.
            let valid = self.member.lease_valid() && map.version.0 > 0 && map.version >= self.member.lease().1;
            if valid && self.all_heard.load(Ordering::Acquire) != period {
                self.ask_all(&map, period).await;
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn ask_all(self: &Arc<Sessions>, map: &Arc<ClusterMap>, period: u64) {
        let homes = map.metadata_servers();
        let silent: Vec<TargetId> = {
            let heard = self.heard.read();
            homes.filter(|home| heard.get(home) != Some(&period)).collect()
        };
        let mut asks = JoinSet::new();
        for home in silent {
            let (sessions, map) = (self.clone(), map.clone());
            asks.spawn(async move { sessions.ask(&map, home).await.map(|()| home).map_err(|error| (home, error)) });
        }
        let mut all = true;
        while let Some(asked) = asks.join_next().await {
            match asked {
                Ok(Ok(home)) => drop(self.heard.write().insert(home, period)),
                Ok(Err((home, error))) => {
                    all = false;
                    tracing::debug!(%home, %error, "metadata does not say yet who was fenced");
                }
                Err(_) => all = false,
            }
        }
        if all {
            self.all_heard.store(period, Ordering::Release);
        }
    }
}
