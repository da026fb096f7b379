// SPDX-License-Identifier: Apache-2.0

//! **Versions grow.** The map's version never goes back, at management and at every run of a server; a group's epoch grows by
//! one with every change of it, and its term begins with an epoch.

use nyala_wire::MapVersion;
use nyala_wire::map::{ClusterMap, Group};

/// What was seen last.
#[derive(Clone, Debug, Default)]
pub struct Monotone {
    version: MapVersion,
    group: Option<Group>,
    members: Vec<(u64, u32)>,
}

impl Monotone {
    /// Management has a new map.
    pub fn map(&mut self, map: &ClusterMap) -> Result<(), String> {
        if map.version <= self.version {
            return Err(format!("map version {} after {}", map.version, self.version));
        }
        self.version = map.version;
        for new in &map.groups {
            if let Some(old) = &self.group {
                let same = (&old.members, &old.states, old.term) == (&new.members, &new.states, new.term);
                let grown = new.epoch == old.epoch + u32::from(!same);
                let terms = new.term == old.term || new.term == new.epoch;
                if !grown || !terms {
                    return Err(format!("epoch {} term {} after {old:?}", new.epoch, new.term));
                }
            }
            self.group = Some(new.clone());
        }
        Ok(())
    }

    /// A member of run `boot` has this epoch now.
    pub fn member(&mut self, node: usize, boot: u64, epoch: u32) -> Result<(), String> {
        self.members.resize(self.members.len().max(node + 1), (0, 0));
        let (old_boot, old_epoch) = self.members[node];
        if boot == old_boot && epoch < old_epoch {
            return Err(format!("server {node} went from epoch {old_epoch} back to {epoch}"));
        }
        self.members[node] = (boot, epoch);
        Ok(())
    }
}
