// SPDX-License-Identifier: Apache-2.0

//! What the API shows: shapes of its own, so that it stays as it is when inner structures change.

use crate::core::Core;
use nyala_cluster::ClusterState;
use nyala_wire::map::{CapacityPool, Consistency, Placement, Reachability, Rebalance, Role, Settings, TargetKind};
use nyala_wire::mgmt::Capacity;
use nyala_wire::{NodeId, TargetId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NodeView {
    pub id: u32,
    pub alias: String,
    /// `mgmt`, `meta` or `storage`.
    #[schema(value_type = String)]
    pub role: Role,
    pub addresses: Vec<String>,
    /// `online`, `probably-offline` or `offline`.
    #[schema(value_type = String)]
    pub reachability: Reachability,
}

/// A target.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TargetView {
    pub id: u16,
    pub alias: String,
    /// `meta` or `storage`.
    #[schema(value_type = String)]
    pub kind: TargetKind,
    pub node: u32,
    /// Storage pool; 0 for metadata.
    pub pool: u16,
    /// `online`, `probably-offline` or `offline`.
    #[schema(value_type = String)]
    pub reachability: Reachability,
    /// `good`, `needs-resync` or `bad`.
    #[schema(value_type = String)]
    pub consistency: Consistency,
    /// `normal`, `low` or `emergency`.
    #[schema(value_type = String)]
    pub capacity_pool: CapacityPool,
    /// Errors that its disk had made when it was called failing; null: it does not fail.
    pub failing_errors: Option<u64>,
    /// As last reported; null if not heard since the management service started.
    pub capacity: Option<CapacityView>,
    /// Number of slots that it serves (metadata).
    pub slots: usize,
}

/// Capacity of a target's file system.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CapacityView {
    pub total_bytes: u64,
    pub free_bytes: u64,
    /// 0 where the file system has no fixed number.
    pub total_inodes: u64,
    pub free_inodes: u64,
}

/// Settings of the whole cluster.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsView {
    pub default_pattern: PatternView,
    /// `random`, `round-robin` or `random-internode`.
    #[schema(value_type = String)]
    pub placement: Placement,
    pub heartbeat_ms: u32,
    pub lease_ms: u32,
    pub session_timeout_ms: u32,
    /// Where it is missing, it stays as it is.
    #[serde(default)]
    pub rebalance: Option<RebalanceView>,
}

/// How a metadata server that joins gets its share of the name space.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RebalanceView {
    /// It does by itself.
    pub automatic: bool,
    /// How long it must have been good.
    pub settle_ms: u32,
    /// Slots on their way at once.
    pub at_once: u16,
    /// Pause after a slot has arrived.
    pub pause_ms: u32,
}

/// A stripe pattern.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternView {
    /// `raid0`.
    #[schema(value_type = String)]
    pub pattern: nyala_wire::Pattern,
    /// A power of two, 64 KiB to 1 GiB.
    pub chunk_bytes: u32,
    pub num_targets: u16,
    pub pool: u16,
    /// 0 turns inlining off.
    pub inline_bytes: u32,
}

/// A new alias.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAlias {
    pub alias: String,
}

impl From<&Settings> for SettingsView {
    fn from(s: &Settings) -> SettingsView {
        let p = &s.default_pattern;
        SettingsView {
            default_pattern: PatternView {
                pattern: p.pattern,
                chunk_bytes: p.chunk_bytes,
                num_targets: p.num_targets,
                pool: p.pool.0,
                inline_bytes: p.inline_bytes,
            },
            placement: s.placement,
            heartbeat_ms: s.heartbeat_ms,
            lease_ms: s.lease_ms,
            session_timeout_ms: s.session_timeout_ms,
            rebalance: Some(RebalanceView {
                automatic: s.rebalance.automatic,
                settle_ms: s.rebalance.settle_ms,
                at_once: s.rebalance.at_once,
                pause_ms: s.rebalance.pause_ms,
            }),
        }
    }
}

impl SettingsView {
    /// The settings, if they were others before.
    pub(super) fn replacing(self, before: &Settings) -> Settings {
        let s = self;
        let p = s.default_pattern;
        Settings {
            default_pattern: nyala_wire::StripePattern {
                pattern: p.pattern,
                chunk_bytes: p.chunk_bytes,
                num_targets: p.num_targets,
                pool: nyala_wire::PoolId(p.pool),
                inline_bytes: p.inline_bytes,
                code: before.default_pattern.code.filter(|_| p.pattern == before.default_pattern.pattern),
            },
            placement: s.placement,
            heartbeat_ms: s.heartbeat_ms,
            lease_ms: s.lease_ms,
            session_timeout_ms: s.session_timeout_ms,
            rebalance: s.rebalance.map_or(before.rebalance.clone(), |rebalance| Rebalance {
                automatic: rebalance.automatic,
                settle_ms: rebalance.settle_ms,
                at_once: rebalance.at_once,
                pause_ms: rebalance.pause_ms,
            }),
        }
    }
}

impl From<Capacity> for CapacityView {
    fn from(c: Capacity) -> CapacityView {
        CapacityView {
            total_bytes: c.total_bytes,
            free_bytes: c.free_bytes,
            total_inodes: c.total_inodes,
            free_inodes: c.free_inodes,
        }
    }
}

/// One node, or all.
pub(super) fn nodes(state: &ClusterState, only: Option<NodeId>) -> Vec<NodeView> {
    let wanted = state.nodes.iter().filter(|n| only.is_none_or(|id| id == n.id));
    let view = wanted.map(|n| NodeView {
        id: n.id.0,
        alias: n.alias.clone(),
        role: n.role,
        addresses: n.addresses.iter().map(ToString::to_string).collect(),
        reachability: n.reachability,
    });
    view.collect()
}

/// One target, or all.
pub(super) fn targets(core: &Core, only: Option<TargetId>) -> Vec<TargetView> {
    let state = core.view.state();
    let leader = core.leader.lock();
    let slots = |id| state.slots.iter().filter(|r| r.target == id).map(|r| usize::from(r.count)).sum();
    let wanted = state.targets.iter().filter(|t| only.is_none_or(|id| id == t.id));
    let view = wanted.map(|t| TargetView {
        id: t.id.0,
        alias: t.alias.clone(),
        kind: t.kind,
        node: t.node.0,
        pool: t.pool.0,
        reachability: t.state.reachability,
        consistency: t.state.consistency,
        capacity_pool: t.capacity_pool,
        failing_errors: state.failing(t.id).map(|failing| failing.errors),
        capacity: leader.capacities().get(&t.id).map(|c| CapacityView::from(*c)),
        slots: slots(t.id),
    });
    view.collect()
}
