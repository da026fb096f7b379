// SPDX-License-Identifier: Apache-2.0

//! Asking the services that have sets. Failure model: see the parent module.

use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::progress::{self, Counted};
use nyala_transport::{Endpoint, Pool, PoolOptions, Request};
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::raid::{RaidOrder, RaidRequest, RaidState};
use nyala_wire::{ErrorCode, TargetId, WireError, codec, message_type};
use serde::Serialize;
use std::cell::Cell;
use std::time::Duration;

/// Longest wait for an answer: a new drive is made in it.
const CALL: Duration = Duration::from_secs(30);
/// Between two questions whether something is done.
const PAUSE: Duration = Duration::from_millis(500);

/// A way to the sets of a cluster.
pub struct Sets {
    map: ClusterMap,
    pool: Pool,
}

/// A target's set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TargetSet {
    pub target: TargetId,
    #[serde(flatten)]
    pub set: RaidState,
}

impl Sets {
    /// Of a cluster.
    pub async fn of(cluster: &Cluster) -> Result<Sets, Failure> {
        let pool = Pool::new(cluster.handshake(), PoolOptions::default());
        Ok(Sets { map: cluster.map().await?, pool })
    }

    /// All storage targets, or those that are named.
    pub fn targets(&self, named: &[TargetId]) -> Result<Vec<TargetId>, Failure> {
        let all: Vec<TargetId> = self.map.targets_of(TargetKind::Storage).map(|target| target.id).collect();
        match named.iter().find(|target| !all.contains(target)) {
            Some(missing) => {
                Err(Failure::failed(format!("there is no storage target {missing}; see nyala target list")))
            }
            None => Ok(if named.is_empty() { all } else { named.to_vec() }),
        }
    }

    /// Asks the set of a target; none if that lies in a directory.
    pub async fn ask(&self, target: TargetId, order: RaidOrder) -> Result<Option<TargetSet>, Failure> {
        let endpoint = self.map.node_of(target).map(|node| Endpoint { addresses: node.addresses.clone() });
        let endpoint = endpoint.ok_or_else(|| Failure::failed(format!("there is no storage target {target}")))?;
        let body = codec::encode(&RaidRequest { target, order });
        let request = Request::new(message_type::STORAGE_RAID, body).at(self.map.version.0, 0).with_timeout(CALL);
        let frame = self.pool.call(&endpoint, request).await?;
        if !frame.is_error() {
            return Ok(Some(TargetSet { target, set: codec::decode(&frame.body)? }));
        }
        let error: WireError = codec::decode(&frame.body)?;
        if error.code == ErrorCode::NOT_SUPPORTED { Ok(None) } else { Err(error.into()) }
    }

    /// Asks a target that must have a set.
    pub async fn order(&self, target: TargetId, order: RaidOrder) -> Result<TargetSet, Failure> {
        self.targets(&[target])?;
        let lies = || Failure::failed(format!("storage target {target} lies in a directory, not on a drive set"));
        self.ask(target, order).await?.ok_or_else(lies)
    }

    /// Asks until nothing is rebuilt any more, and shows how far that is.
    pub async fn until_rebuilt(&self, target: TargetId) -> Result<TargetSet, Failure> {
        let (first, far) = (Cell::new(None), Cell::new((0, None)));
        let is = |set: &RaidState| {
            let before = first.get().unwrap_or(set.rebuilt_bytes);
            first.set(Some(before));
            far.set(rebuilt(set, before));
            !set.rebuilding
        };
        progress::during("rebuild", Counted::Bytes, || far.get(), self.wait(target, is)).await
    }

    /// Asks until the check has ended, and shows how far it is.
    pub async fn until_checked(&self, target: TargetId) -> Result<TargetSet, Failure> {
        let far = Cell::new((0, None));
        let is = |set: &RaidState| {
            far.set((set.scrub.stripes, None));
            !set.scrub.running
        };
        progress::during("check", Counted::Things("stripes"), || far.get(), self.wait(target, is)).await
    }

    /// Asks until it is so.
    async fn wait(&self, target: TargetId, is: impl Fn(&RaidState) -> bool) -> Result<TargetSet, Failure> {
        loop {
            let found = self.order(target, RaidOrder::Show).await?;
            if is(&found.set) {
                return Ok(found);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Bytes that were rebuilt since there were `before`, and how many there will be, where the strips that members miss are known.
fn rebuilt(set: &RaidState, before: u64) -> (u64, Option<u64>) {
    let done = set.rebuilt_bytes.saturating_sub(before);
    let missed: u64 = set.members.iter().fold(0, |sum, member| sum.saturating_add(member.missed));
    let left = missed.saturating_mul(set.strip_bytes);
    (done, (left > 0).then(|| done.saturating_add(left)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::raid::RaidMember;

    #[test]
    fn what_is_left_of_a_rebuild_is_what_members_miss() {
        let member = |missed| RaidMember { missed, ..RaidMember::default() };
        let set =
            RaidState { strip_bytes: 10, rebuilt_bytes: 70, members: vec![member(0), member(5)], ..Default::default() };
        assert_eq!(rebuilt(&set, 50), (20, Some(70)));
        assert_eq!(rebuilt(&RaidState { members: vec![member(0)], ..set.clone() }, 50), (20, None), "nobody knows");
        assert_eq!(rebuilt(&set, 90), (0, Some(50)), "the service was started again");
    }
}
