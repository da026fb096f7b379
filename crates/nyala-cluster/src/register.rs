// SPDX-License-Identifier: Apache-2.0

//! Registration of a service and its targets: ids, aliases, slots.

use crate::command::{NewTarget, RegisterNode};
use crate::states::{TargetState, Trigger, next};
use crate::{
    ClusterError, ClusterState, DEFAULT_POOL, Event, MAX_NODES, NodeRecord, SLOTS_PER_TARGET, TargetRecord, alias,
};
use nyala_wire::map::{CapacityPool, Consistency, Reachability, Role, SlotRange, TargetKind};
use nyala_wire::{ClusterId, MAX_SLOTS, NodeId, PoolId, Slot, TargetId};

/// Storage targets get ids from here up, so that the first hundred are left to metadata; both may go beyond.
const FIRST_STORAGE_ID: u16 = 101;

impl ClusterState {
    pub(crate) fn register(&mut self, register: &RegisterNode) -> Result<Vec<Event>, ClusterError> {
        register.check()?;
        if register.cluster != ClusterId::UNKNOWN && register.cluster != self.cluster {
            return Err(ClusterError::ForeignCluster { ours: self.cluster, theirs: register.cluster });
        }
        let mut events = Vec::new();
        let node = self.register_node(register, &mut events)?;
        let mut listed = Vec::with_capacity(register.targets.len());
        let mut refused = None;
        for wanted in &register.targets {
            match self.register_target(node, wanted, &mut events) {
                Ok(id) => listed.push(id),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        // A refused target does not take a storage service's others down; a metadata service has no others.
        if let Some(error) = refused
            && (register.role != Role::Storage || listed.is_empty())
        {
            return Err(error);
        }
        for target in self.targets.iter_mut().filter(|t| t.node == node) {
            target.listed = listed.contains(&target.id);
            let state = next(target.state, if target.listed { Trigger::Heard } else { Trigger::Lost })?;
            if state != target.state {
                target.state = state;
                events.push(Event::TargetState(target.id, state));
            }
        }
        Ok(events)
    }

    fn register_node(&mut self, register: &RegisterNode, events: &mut Vec<Event>) -> Result<NodeId, ClusterError> {
        let Some(at) = self.nodes.iter().position(|n| n.uuid == register.uuid) else {
            return self.add_node(register, events);
        };
        let node = &mut self.nodes[at];
        let id = node.id;
        if node.role != register.role {
            return Err(ClusterError::RoleDiffers { node: id });
        }
        if node.incarnation != register.incarnation {
            if node.previous.contains(&register.incarnation) {
                return Err(ClusterError::Superseded { node: id });
            }
            if node.previous.len() == NodeRecord::MAX_PREVIOUS {
                node.previous.remove(0);
            }
            node.previous.push(node.incarnation);
        } else if node.addresses == register.addresses && node.reachability == Reachability::Online {
            return Ok(id);
        }
        node.incarnation = register.incarnation;
        node.addresses.clone_from(&register.addresses);
        node.reachability = Reachability::Online;
        events.push(Event::NodeChanged(id));
        Ok(id)
    }

    fn add_node(&mut self, register: &RegisterNode, events: &mut Vec<Event>) -> Result<NodeId, ClusterError> {
        let exhausted = || ClusterError::Exhausted { what: "node ids".to_owned() };
        if self.nodes.len() >= MAX_NODES {
            return Err(exhausted());
        }
        self.check_new_node(register)?;
        let aliases = self.nodes.iter().map(|n| n.alias.as_str());
        let stem = match register.role {
            Role::Mgmt => "mgmt",
            Role::Meta => "meta",
            Role::Storage => "storage",
            Role::Client => "client",
        };
        let alias = wished_or(&register.alias, aliases, |taken| alias::free(stem, taken))?;
        self.last_node = self.last_node.checked_add(1).ok_or_else(exhausted)?;
        let id = NodeId(self.last_node);
        self.nodes.push(NodeRecord {
            id,
            uuid: register.uuid,
            alias,
            role: register.role,
            addresses: register.addresses.clone(),
            incarnation: register.incarnation,
            previous: Vec::new(),
            reachability: Reachability::Online,
        });
        events.push(Event::NodeAdded(id));
        Ok(id)
    }

    /// A service without a history is either new, or an old one whose directory is missing: that one has the address of
    /// a node that is registered, and must not become a second node silently.
    fn check_new_node(&self, register: &RegisterNode) -> Result<(), ClusterError> {
        if self.removed.binary_search(&register.uuid).is_ok() {
            return Err(ClusterError::WasRemoved { what: "this service".to_owned() });
        }
        let same =
            |n: &&NodeRecord| n.role == register.role && n.addresses.iter().any(|a| register.addresses.contains(a));
        // One that brings that node's targets has lost its own directory only.
        let brings = |n: &NodeRecord| {
            let mut theirs = self.targets.iter().filter(|t| t.node == n.id);
            theirs.any(|t| register.targets.iter().any(|wanted| wanted.uuid == t.uuid))
        };
        match self.nodes.iter().filter(|n| n.role != Role::Mgmt && !brings(n)).find(same) {
            Some(node) => Err(ClusterError::AddressTaken { node: node.id, alias: node.alias.clone() }),
            None => Ok(()),
        }
    }

    /// Why a target of a node that has just registered was left out; `None` if it was not.
    pub fn refusal(&self, node: NodeId, wanted: &NewTarget) -> Option<ClusterError> {
        self.clone().register_target(node, wanted, &mut Vec::new()).err()
    }

    fn register_target(
        &mut self,
        node: NodeId,
        wanted: &NewTarget,
        events: &mut Vec<Event>,
    ) -> Result<TargetId, ClusterError> {
        let Some(at) = self.targets.iter().position(|t| t.uuid == wanted.uuid) else {
            return self.add_target(node, wanted, events);
        };
        let TargetRecord { id, kind, node: server, listed, .. } = self.targets[at];
        if kind != wanted.kind {
            return Err(ClusterError::TargetKindDiffers { target: id, registered: kind, wanted: wanted.kind });
        }
        if wanted.id.0 != 0 && wanted.id != id {
            return Err(ClusterError::TargetIdDiffers { wanted: wanted.id, registered: id });
        }
        if server != node {
            let alive = self.node(server).is_some_and(|n| n.reachability != Reachability::Offline);
            if listed && alive {
                return Err(ClusterError::TargetServed { target: id, node: server });
            }
            self.targets[at].node = node;
            events.push(Event::TargetMoved(id, node));
        }
        self.targets[at].losses = wanted.losses;
        Ok(id)
    }

    fn add_target(
        &mut self,
        node: NodeId,
        wanted: &NewTarget,
        events: &mut Vec<Event>,
    ) -> Result<TargetId, ClusterError> {
        if self.removed.binary_search(&wanted.uuid).is_ok() {
            return Err(ClusterError::WasRemoved { what: "this target directory".to_owned() });
        }
        let id = self.choose_target_id(wanted)?;
        let aliases = self.targets.iter().map(|t| t.alias.as_str());
        let alias = wished_or(&wanted.alias, aliases, |mut taken| {
            let plain = format!("t{id}");
            if taken.any(|alias| alias == plain) { format!("target-{id}") } else { plain }
        })?;
        let at = self.targets.partition_point(|t| t.id < id);
        let record = TargetRecord {
            id,
            uuid: wanted.uuid,
            alias,
            kind: wanted.kind,
            node,
            pool: if wanted.kind == TargetKind::Storage { DEFAULT_POOL } else { PoolId(0) },
            state: TargetState { reachability: Reachability::Online, consistency: Consistency::Good },
            capacity_pool: CapacityPool::Normal,
            listed: true,
            range: 0,
            losses: wanted.losses,
        };
        self.targets.insert(at, record);
        events.push(Event::TargetAdded(id));
        if wanted.kind == TargetKind::Meta && !wanted.spare {
            events.push(Event::SlotsAssigned(self.assign_slots(id)?));
        }
        Ok(id)
    }

    fn choose_target_id(&self, wanted: &NewTarget) -> Result<TargetId, ClusterError> {
        if wanted.id.0 != 0 {
            let taken = self.target(wanted.id).is_some() || self.retired.binary_search(&wanted.id).is_ok();
            return if taken { Err(ClusterError::TargetIdTaken { target: wanted.id }) } else { Ok(wanted.id) };
        }
        let first = if wanted.kind == TargetKind::Meta { 1 } else { FIRST_STORAGE_ID };
        let free = |id: &TargetId| self.target(*id).is_none() && self.retired.binary_search(id).is_err();
        let found = (first..=u16::MAX).map(TargetId).find(free);
        found.ok_or_else(|| ClusterError::Exhausted { what: "target ids".to_owned() })
    }

    /// Gives `target` the lowest run of slots that nobody serves. The first metadata target so gets the root's slot.
    fn assign_slots(&mut self, target: TargetId) -> Result<SlotRange, ClusterError> {
        let mut first = 0_u32;
        let mut at = 0;
        for range in &self.slots {
            if u32::from(range.first.0) - first >= u32::from(SLOTS_PER_TARGET) {
                break;
            }
            first = u32::from(range.first.0) + u32::from(range.count);
            at += 1;
        }
        if first + u32::from(SLOTS_PER_TARGET) > MAX_SLOTS {
            return Err(ClusterError::Exhausted { what: "slots for metadata targets".to_owned() });
        }
        let range = SlotRange { first: Slot(first as u16), count: SLOTS_PER_TARGET, target };
        self.slots.insert(at, range);
        Ok(range)
    }
}

/// The wished alias if it is free, or one that `choose` makes.
fn wished_or<'a, I: Iterator<Item = &'a str> + Clone>(
    wished: &str,
    mut taken: I,
    choose: impl FnOnce(I) -> String,
) -> Result<String, ClusterError> {
    if wished.is_empty() {
        return Ok(choose(taken));
    }
    if taken.any(|alias| alias == wished) {
        return Err(ClusterError::AliasTaken { alias: wished.to_owned() });
    }
    Ok(wished.to_owned())
}
