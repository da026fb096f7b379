// SPDX-License-Identifier: Apache-2.0

//! Removal of nodes, targets and pools: only what nobody uses any more. Removing what is not there is done already.

use crate::disk_failure;
use crate::{ClusterError, ClusterState, DEFAULT_POOL, Event};
use nyala_wire::map::{Reachability, TargetKind};
use nyala_wire::{NodeId, PoolId, TargetId};

fn in_use(what: String, why: &str) -> ClusterError {
    ClusterError::InUse { what, why: why.to_owned() }
}

impl ClusterState {
    pub(crate) fn remove_node(&mut self, id: NodeId) -> Result<Vec<Event>, ClusterError> {
        let Some(node) = self.node(id) else { return Ok(Vec::new()) };
        let (what, uuid) = (format!("node {id} ({})", node.alias), node.uuid);
        if node.reachability != Reachability::Offline {
            return Err(in_use(what, "its service is alive; stop it first"));
        }
        let targets: Vec<String> = self.targets.iter().filter(|t| t.node == id).map(|t| t.id.to_string()).collect();
        if !targets.is_empty() {
            let why = format!("it has targets; remove or move them first: {}", targets.join(", "));
            return Err(in_use(what, &why));
        }
        self.nodes.retain(|n| n.id != id);
        self.retire(uuid);
        Ok(vec![Event::NodeRemoved(id)])
    }

    pub(crate) fn remove_target(&mut self, id: TargetId, content_gone: bool) -> Result<Vec<Event>, ClusterError> {
        let Some(target) = self.target(id) else { return Ok(Vec::new()) };
        let (what, uuid) = (format!("target {id} ({})", target.alias), target.uuid);
        // A metadata server that is a mirror group goes on without the target that it is named by.
        if self.has_slots(id) && !self.groups.iter().any(|group| group.serves == Some(id)) {
            return Err(in_use(what, "it serves a part of the name space"));
        }
        if self.moves.iter().any(|moving| moving.to == id) {
            return Err(in_use(what, "slots are on their way to it; cancel that first"));
        }
        if self.groups.iter().any(|group| group.members.contains(&id)) {
            return Err(in_use(what, "it is a member of a mirror group"));
        }
        if target.state.reachability != Reachability::Offline {
            return Err(in_use(what, "its service is alive; stop it, or start it without the target"));
        }
        if target.kind == TargetKind::Storage && !content_gone {
            return Err(in_use(what, "files may have data on it; say that the content is gone to give it up"));
        }
        self.targets.retain(|t| t.id != id);
        self.emptied.retain(|server| *server != id);
        self.arrived.retain(|server| *server != id);
        self.planned.retain(|plan| plan.to != id);
        disk_failure::forget(self, id);
        if let Err(at) = self.retired.binary_search(&id) {
            self.retired.insert(at, id);
        }
        self.retire(uuid);
        Ok(vec![Event::TargetRemoved(id)])
    }

    pub(crate) fn remove_pool(&mut self, id: PoolId) -> Result<Vec<Event>, ClusterError> {
        let Some(pool) = self.pools.iter().find(|p| p.id == id) else { return Ok(Vec::new()) };
        let what = format!("storage pool {id} ({})", pool.alias);
        if id == DEFAULT_POOL {
            return Err(in_use(what, "it is the default pool, which every cluster has"));
        }
        if self.targets.iter().any(|t| t.kind == TargetKind::Storage && t.pool == id) {
            return Err(in_use(what, "it has targets; move them to another pool first"));
        }
        if self.settings.default_pattern.pool == id {
            return Err(in_use(what, "the default stripe pattern names it; change the settings first"));
        }
        self.pools.retain(|p| p.id != id);
        Ok(vec![Event::PoolRemoved(id)])
    }
}
