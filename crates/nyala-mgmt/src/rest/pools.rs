// SPDX-License-Identifier: Apache-2.0

//! `GET /pools`: the storage pools and their targets.

use super::RestState;
use super::error::ErrorBody;
use axum::Json;
use axum::extract::State;
use nyala_wire::map::TargetKind;
use serde::Serialize;
use utoipa::ToSchema;

/// A storage pool.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PoolView {
    id: u16,
    alias: String,
    targets: Vec<u16>,
}

#[utoipa::path(get, path = "/api/v1/pools", tag = "pools",
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<PoolView>> {
    let cluster = state.core.view.state();
    let members = |pool| cluster.targets.iter().filter(move |t| t.kind == TargetKind::Storage && t.pool == pool);
    let view = cluster.pools.iter().map(|p| PoolView {
        id: p.id.0,
        alias: p.alias.clone(),
        targets: members(p.id).map(|t| t.id.0).collect(),
    });
    Json(view.collect())
}
