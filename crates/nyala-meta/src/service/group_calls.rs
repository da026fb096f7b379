// SPDX-License-Identifier: Apache-2.0

//! Calls to mirror groups.
//!
//! Failure model: as of all calls to peers. A primary that only this server does not reach is primary for the others all
//! the same: what it has to do is passed on by another member. A service that is slow or stopped is none of this, since its
//! host answers.

use super::peers::{Peers, unreachable};
use nyala_transport::{Endpoint, Request};
use nyala_wire::map::{ClusterMap, Group, MemberState, Reachability};
use nyala_wire::message_type::{STORAGE, STORAGE_GROUP};
use nyala_wire::mirror::GroupHeader;
use nyala_wire::storage::{StorageReply, StorageRequest};
use nyala_wire::{ErrorCode, GroupId, TargetId, WireError, codec};
use std::time::{Duration, Instant};

/// A member of a mirror group that is silent for so long may be another one's successor: with a newer map it is asked again.
const GROUP_TIMEOUT: Duration = Duration::from_secs(3);
/// A request without an answer for so long is a reason to see whether the host answers at all.
const SUSPECT: Duration = Duration::from_secs(1);
/// One that did not is gone around for so long.
const UNREACHED: Duration = Duration::from_secs(10);

impl Peers {
    /// One request to the primary of a mirror group; by another good member if the primary's host does not answer.
    pub(super) async fn group(
        &self,
        map: &ClusterMap,
        group: GroupId,
        number: u64,
        request: &StorageRequest,
    ) -> Result<StorageReply, WireError> {
        let known = map.group(group);
        let gone = || ErrorCode::NOT_READY.with(format!("mirror group {group} is not in the cluster map"));
        let (primary, epoch) = known.and_then(|known| Some((known.primary()?, known.epoch))).ok_or_else(gone)?;
        let to = self.near_member(map, group, primary);
        let lowest = self.numbers.lock().1.first().copied().unwrap_or(number);
        let header = GroupHeader {
            group: group.0.into(),
            kind: STORAGE.into(),
            pass_on: u32::from(to != primary).into(),
            client: self.client.into(),
            number: number.into(),
            lowest: lowest.into(),
        };
        let body = header.wrap(&codec::encode(request));
        let request = Request { group_epoch: epoch, ..Request::new(STORAGE_GROUP, body) };
        tokio::select! {
            result = self.call(map, to, request.with_timeout(GROUP_TIMEOUT)) => result,
            () = self.out_of_reach(map, to) => {
                self.unreached.lock().insert(to, Instant::now());
                Err(unreachable(to, "its host does not answer"))
            }
        }
    }

    /// The primary, or a good member to pass requests on to it if its host did not answer lately.
    fn near_member(&self, map: &ClusterMap, group: GroupId, primary: TargetId) -> TargetId {
        let unreached = self.unreached.lock();
        let near = |target: TargetId| unreached.get(&target).is_none_or(|seen| seen.elapsed() >= UNREACHED);
        let online = |id| map.target(id).is_some_and(|target| target.reachability != Reachability::Offline);
        if near(primary) {
            return primary;
        }
        let mut members = map.group(group).into_iter().flat_map(Group::members_with_states);
        let other = members.find(|(id, state)| *state == MemberState::Good && near(*id) && online(*id));
        other.map_or(primary, |(id, _)| id)
    }

    /// Ends once a target's host does not answer, whatever its service does.
    async fn out_of_reach(&self, map: &ClusterMap, target: TargetId) {
        let addresses = map.node_of(target).map(|node| node.addresses.clone()).unwrap_or_default();
        let endpoint = Endpoint { addresses };
        loop {
            tokio::time::sleep(SUSPECT).await;
            if !self.pool.is_reachable(&endpoint).await {
                return;
            }
        }
    }
}
