// SPDX-License-Identifier: Apache-2.0

//! `apply`: the one way in which the state changes.

use crate::access_rules;
use crate::audit;
use crate::capacity::CapacityLimits;
use crate::capacity::TargetPool;
use crate::disk_failure;
use crate::key_rules;
use crate::slots::{self, planned};
use crate::states::{TargetState, next, trigger_for};
use crate::{ClusterError, ClusterState, Command, DEFAULT_POOL, Event, Thing, Trigger, alias};
use nyala_wire::map::{Consistency, Pool, Reachability, Settings, TargetKind};
use nyala_wire::{ClusterId, NodeId, PoolId, TargetId};

type Events = Result<Vec<Event>, ClusterError>;

impl ClusterState {
    /// Carries out a command. Deterministic; the version grows by one if and only if there are events, and a refused
    /// command changes nothing.
    pub fn apply(&mut self, command: Command) -> Events {
        if self.cluster == ClusterId::UNKNOWN && !matches!(command, Command::Init { .. }) {
            return Err(ClusterError::NotInitialised);
        }
        // Changes are rare and states small: working on a copy is the simplest way to do all or nothing.
        let mut changed = self.clone();
        let mut events = changed.dispatch(command)?;
        if !self.groups.is_empty() && !events.is_empty() {
            changed.reconcile_groups(self, &mut events)?;
        }
        if !events.is_empty() {
            changed.version.0 += 1;
            *self = changed;
        }
        Ok(events)
    }

    fn dispatch(&mut self, command: Command) -> Events {
        match command {
            Command::Init { cluster, settings } => self.init(cluster, settings),
            Command::RegisterNode(register) => self.register(&register),
            Command::SetReachability { node, incarnation, reachability } => {
                self.set_reachability(node, incarnation, reachability)
            }
            Command::SetConsistency { target, trigger } => self.set_consistency(target, trigger),
            Command::SetCapacityPools(pools) => self.set_capacity_pools(&pools),
            Command::SetSettings(settings) => self.set_settings(settings),
            Command::SetLimits(limits) => self.set_limits(limits),
            Command::Rename { thing, alias } => self.rename(thing, alias),
            Command::CreatePool { alias } => self.create_pool(alias),
            Command::RemovePool { pool } => self.remove_pool(pool),
            Command::SetPool { target, pool } => self.set_pool(target, pool),
            Command::RemoveNode { node } => self.remove_node(node),
            Command::RemoveTarget { target, content_gone } => self.remove_target(target, content_gone),
            Command::CreateGroup { group, kind, members } => self.create_group(group, kind, &members),
            Command::RemoveGroup { group, content_gone } => self.remove_group(group, content_gone),
            Command::MarkNeedsResync { member, by } => self.mark_needs_resync(member, by),
            Command::StartResync(member) => self.start_resync(member),
            Command::MemberResynced(member) => self.member_resynced(member),
            Command::Failover(member) => self.switch_primary(member),
            Command::Fenced(member) => self.fenced(member),
            Command::StopResync { group, stopped } => self.stop_resync(group, stopped),
            Command::HandOutRange { target, last, range } => self.hand_out_range(target, last, range),
            Command::AddMember { group, target } => self.add_member(group, target),
            Command::RemoveMember { group, target } => self.remove_member(group, target),
            Command::MoveSlots { slots: which, to } => slots::move_slots(self, &which, to),
            Command::CancelMoves { slots: which } => slots::cancel_moves(self, &which),
            Command::BeginMove { slot, after, run } => slots::begin_move(self, slot, after, run),
            Command::CompleteMove { slot, attempt } => slots::complete_move(self, slot, attempt),
            Command::PlanMoves { to, slots } => planned::plan_moves(self, to, slots),
            Command::ReleaseMoves { to, slots } => planned::release_moves(self, to, &slots),
            Command::SetKeyRule(rule) => key_rules::set(self, rule),
            Command::SetAccessRule(rule) => access_rules::set(self, rule),
            Command::RemoveAccessRule { key, network } => access_rules::remove(self, &key, network),
            Command::NoteOrder(order) => audit::note_order(self, order),
            Command::EndOrder { number, outcome } => audit::end_order(self, number, outcome),
            Command::CallFailing { target, errors } => disk_failure::call_failing(self, target, errors),
            Command::Forgive { target, errors } => disk_failure::forgive(self, target, errors),
            Command::ReplaceFailing { group, target, by } => disk_failure::replace(self, group, target, by),
        }
    }

    fn init(&mut self, cluster: ClusterId, settings: Settings) -> Events {
        if cluster == ClusterId::UNKNOWN {
            return Err(ClusterError::invalid("a cluster id must not be zero"));
        }
        if self.cluster != ClusterId::UNKNOWN {
            let same = self.cluster == cluster;
            let refusal = ClusterError::AlreadyInitialised { ours: self.cluster, theirs: cluster };
            return if same { Ok(Vec::new()) } else { Err(refusal) };
        }
        self.cluster = cluster;
        self.pools.push(Pool { id: DEFAULT_POOL, alias: "default".to_owned() });
        self.last_pool = DEFAULT_POOL.0;
        self.check_settings(&settings)?;
        self.settings = settings;
        Ok(vec![Event::Initialised(cluster)])
    }

    fn set_reachability(&mut self, id: NodeId, incarnation: u64, to: Reachability) -> Events {
        let node = self.node_mut(id).ok_or(ClusterError::NoNode { node: id })?;
        if node.incarnation != incarnation || node.reachability == to {
            return Ok(Vec::new());
        }
        let trigger = trigger_for(to);
        let now = TargetState { reachability: node.reachability, consistency: Consistency::Good };
        node.reachability = next(now, trigger)?.reachability;
        let mut events = vec![Event::NodeChanged(id)];
        for target in self.targets.iter_mut().filter(|t| t.node == id && t.listed) {
            let state = next(target.state, trigger)?;
            if state != target.state {
                target.state = state;
                events.push(Event::TargetState(target.id, state));
            }
        }
        Ok(events)
    }

    fn set_consistency(&mut self, id: TargetId, trigger: Trigger) -> Events {
        if matches!(trigger, Trigger::Heard | Trigger::Late | Trigger::Lost) {
            return Err(ClusterError::invalid("reachability follows the node and is not set on a target"));
        }
        let target = self.target_mut(id).ok_or(ClusterError::NoTarget { target: id })?;
        let state = next(target.state, trigger)?;
        if state == target.state {
            return Ok(Vec::new());
        }
        target.state = state;
        Ok(vec![Event::TargetState(id, state)])
    }

    fn set_capacity_pools(&mut self, pools: &[TargetPool]) -> Events {
        let mut events = Vec::new();
        for (at, &TargetPool { target: id, pool }) in pools.iter().enumerate() {
            let target = self.target_mut(id).ok_or(ClusterError::NoTarget { target: id })?;
            let named_again = pools[at + 1..].iter().any(|later| later.target == id);
            if !named_again && target.capacity_pool != pool {
                target.capacity_pool = pool;
                events.push(Event::TargetCapacity(id, pool));
            }
        }
        Ok(events)
    }

    fn check_settings(&self, settings: &Settings) -> Result<(), ClusterError> {
        settings.default_pattern.check().map_err(|e| ClusterError::invalid(e.message))?;
        let pool = settings.default_pattern.pool;
        if !self.pools.iter().any(|p| p.id == pool) {
            return Err(ClusterError::NoPool { pool });
        }
        if !(10..=60_000).contains(&settings.heartbeat_ms) {
            return Err(ClusterError::invalid("heartbeat_ms must be from 10 to 60000"));
        }
        if settings.lease_ms < settings.heartbeat_ms.saturating_mul(3) || settings.lease_ms > 600_000 {
            return Err(ClusterError::invalid(
                "lease_ms must be at least three times heartbeat_ms, and at most 600000",
            ));
        }
        if settings.session_timeout_ms < settings.lease_ms {
            return Err(ClusterError::invalid("session_timeout_ms must not be shorter than lease_ms"));
        }
        let rebalance = &settings.rebalance;
        if !(1..=slots::MAX_MOVES).contains(&usize::from(rebalance.at_once)) {
            return Err(ClusterError::invalid("rebalance.at_once must be from 1 to 4096"));
        }
        Ok(())
    }

    fn set_settings(&mut self, settings: Settings) -> Events {
        self.check_settings(&settings)?;
        if self.settings == settings {
            return Ok(Vec::new());
        }
        self.settings = settings;
        Ok(vec![Event::SettingsChanged])
    }

    fn set_limits(&mut self, limits: CapacityLimits) -> Events {
        limits.check()?;
        if self.limits == limits {
            return Ok(Vec::new());
        }
        self.limits = limits;
        Ok(vec![Event::LimitsChanged])
    }

    fn rename(&mut self, thing: Thing, alias: String) -> Events {
        alias::check(&alias)?;
        let taken = match thing {
            Thing::Node(id) => self.nodes.iter().any(|n| n.alias == alias && n.id != id),
            Thing::Target(id) => self.targets.iter().any(|t| t.alias == alias && t.id != id),
            Thing::Pool(id) => self.pools.iter().any(|p| p.alias == alias && p.id != id),
        };
        if taken {
            return Err(ClusterError::AliasTaken { alias });
        }
        let place = match thing {
            Thing::Node(node) => &mut self.node_mut(node).ok_or(ClusterError::NoNode { node })?.alias,
            Thing::Target(target) => &mut self.target_mut(target).ok_or(ClusterError::NoTarget { target })?.alias,
            Thing::Pool(pool) => {
                let found = self.pools.iter_mut().find(|p| p.id == pool);
                &mut found.ok_or(ClusterError::NoPool { pool })?.alias
            }
        };
        if *place == alias {
            return Ok(Vec::new());
        }
        *place = alias;
        Ok(vec![Event::Renamed(thing)])
    }

    /// Idempotent by alias: a pool that exists under it is left as it is.
    fn create_pool(&mut self, alias: String) -> Events {
        alias::check(&alias)?;
        if self.pools.iter().any(|p| p.alias == alias) {
            return Ok(Vec::new());
        }
        let exhausted = || ClusterError::Exhausted { what: "storage pool ids".to_owned() };
        self.last_pool = self.last_pool.checked_add(1).ok_or_else(exhausted)?;
        let id = PoolId(self.last_pool);
        self.pools.push(Pool { id, alias });
        Ok(vec![Event::PoolCreated(id)])
    }

    fn set_pool(&mut self, id: TargetId, pool: PoolId) -> Events {
        if !self.pools.iter().any(|p| p.id == pool) {
            return Err(ClusterError::NoPool { pool });
        }
        let target = self.target_mut(id).ok_or(ClusterError::NoTarget { target: id })?;
        if target.kind != TargetKind::Storage {
            return Err(ClusterError::invalid("only storage targets are in storage pools"));
        }
        if target.pool == pool {
            return Ok(Vec::new());
        }
        target.pool = pool;
        Ok(vec![Event::TargetPool(id, pool)])
    }
}
