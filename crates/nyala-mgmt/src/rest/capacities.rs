// SPDX-License-Identifier: Apache-2.0

//! `GET /capacities`: what targets reported last, and the limits of the capacity pools.

use super::error::ErrorBody;
use super::state::RestState;
use super::views::CapacityView;
use axum::Json;
use axum::extract::State;
use nyala_cluster::CapacityLimits;
use nyala_wire::map::CapacityPool;
use serde::Serialize;
use utoipa::ToSchema;

/// Capacities and limits.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CapacitiesView {
    targets: Vec<TargetCapacityView>,
    /// By kind of target: `low_bytes`, `emergency_bytes`, `low_inodes`, `emergency_inodes`, `dynamic_percent`.
    #[schema(value_type = serde_json::Value)]
    limits: CapacityLimits,
}

/// One target's capacity.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TargetCapacityView {
    target: u16,
    /// `normal`, `low` or `emergency`.
    #[schema(value_type = String)]
    pool: CapacityPool,
    capacity: CapacityView,
}

/// What targets reported last, and the limits of the capacity pools.
#[utoipa::path(get, path = "/api/v1/capacities", tag = "targets",
    responses((status = 200, body = CapacitiesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<CapacitiesView> {
    let cluster = state.core.view.state();
    let leader = state.core.leader.lock();
    let known = cluster.targets.iter().filter_map(|t| {
        let capacity = (*leader.capacities().get(&t.id)?).into();
        Some(TargetCapacityView { target: t.id.0, pool: t.capacity_pool, capacity })
    });
    Json(CapacitiesView { targets: known.collect(), limits: cluster.limits })
}
