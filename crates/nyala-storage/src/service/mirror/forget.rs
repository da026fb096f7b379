// SPDX-License-Identifier: Apache-2.0

//! What is remembered of a mirror group goes when the group is removed.
//!
//! **Failure model.** The group may be removed while this service is away: so every map is compared with what is there, the
//! first one too. A map is management's word, and newer than every one before: a group of which a target is no member in it has
//! been removed for good. Its member may still be writing: until that has ended, nothing is removed. What fails, or has to wait for too
//! long, is tried again with the next map.

use super::shell::SharedMember;
use super::supervisor::Supervisor;
use nyala_wire::map::ClusterMap;
use nyala_wire::{GroupId, TargetId};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest wait for the end of what is written.
const WAIT: Duration = Duration::from_millis(500);

impl Supervisor {
    /// Removes the rows of all groups that the map does not have any more.
    pub(super) async fn forget_removed(&self, map: &ClusterMap) {
        if map.version.0 == 0 {
            return;
        }
        for (id, target) in self.targets.iter() {
            let known = match target.remembered_groups() {
                Ok(known) => known,
                Err(error) => {
                    tracing::warn!(target_id = %id, %error, "mirror groups that are remembered cannot be listed");
                    continue;
                }
            };
            for group in known.into_iter().filter(|group| !is_member(map, *group, *id)) {
                if !self.has_ended(group).await {
                    continue;
                }
                match target.forget_group(group).await {
                    Ok(rows) => {
                        self.mirrors.common.count("mirror.rows_forgotten", rows);
                        tracing::info!(%group, target_id = %id, rows, "a mirror group was removed and is forgotten");
                    }
                    Err(error) => {
                        tracing::warn!(%group, target_id = %id, %error, "a removed mirror group is not forgotten")
                    }
                }
            }
        }
    }

    /// Whether nothing is written for a group any more.
    async fn has_ended(&self, group: GroupId) -> bool {
        let began = Instant::now();
        loop {
            let runs = {
                let mut stopping = self.mirrors.stopping.lock();
                stopping.retain(|shared| !shared.rows.has_ended());
                let of_it = |shared: &Arc<SharedMember>| shared.setup.group == group;
                stopping.iter().any(of_it) || self.mirrors.groups.read().contains_key(&group)
            };
            if !runs || began.elapsed() > WAIT {
                return !runs;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn is_member(map: &ClusterMap, group: GroupId, target: TargetId) -> bool {
    map.group(group).is_some_and(|group| group.members.contains(&target))
}
