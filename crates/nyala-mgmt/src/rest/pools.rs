// SPDX-License-Identifier: Apache-2.0

//! `/pools`: the storage pools and their targets; new ones, other aliases, the end of one, and targets that move to one.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::state::RestState;
use super::views::NewAlias;
use crate::groups;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_cluster::ClusterState;
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::pool_orders::PoolOrder;
use serde::Serialize;
use utoipa::ToSchema;

/// A storage pool.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PoolView {
    id: u16,
    alias: String,
    targets: Vec<u16>,
}

/// The storage pools, and the targets of each.
#[utoipa::path(get, path = "/api/v1/pools", tag = "pools",
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<PoolView>> {
    Json(views(&state.core.view.state()))
}

fn views(cluster: &ClusterState) -> Vec<PoolView> {
    let members = |pool| cluster.targets.iter().filter(move |t| t.kind == TargetKind::Storage && t.pool == pool);
    let view = cluster.pools.iter().map(|p| PoolView {
        id: p.id.0,
        alias: p.alias.clone(),
        targets: members(p.id).map(|t| t.id.0).collect(),
    });
    view.collect()
}

/// Carries an order out; the pools afterwards.
async fn order(state: &RestState, order: PoolOrder) -> Result<Json<Vec<PoolView>>, ApiError> {
    groups::carry_out(&state.core, GroupOrder::Pools(order)).await?;
    Ok(Json(views(&state.core.view.state())))
}

/// Makes a storage pool. One of that alias that exists is left as it is.
#[utoipa::path(post, path = "/api/v1/pools", tag = "pools", request_body = NewAlias,
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn post(State(state): State<RestState>, body: Bytes) -> Result<Json<Vec<PoolView>>, ApiError> {
    let NewAlias { alias } = parse(&body)?;
    order(&state, PoolOrder::CreatePool { alias }).await
}

/// Gives a storage pool another alias.
#[utoipa::path(patch, path = "/api/v1/pools/{id}", tag = "pools", params(("id" = u16, Path)), request_body = NewAlias,
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn patch(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<PoolView>>, ApiError> {
    let pool = parse_id(&id, "storage pool")?;
    let NewAlias { alias } = parse(&body)?;
    order(&state, PoolOrder::RenamePool { pool, alias }).await
}

/// Removes a storage pool; it must have no targets.
#[utoipa::path(delete, path = "/api/v1/pools/{id}", tag = "pools", params(("id" = u16, Path)),
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<Vec<PoolView>>, ApiError> {
    order(&state, PoolOrder::RemovePool { pool: parse_id(&id, "storage pool")? }).await
}

/// Moves a target to a storage pool. Files that exist stay where they are.
#[utoipa::path(put, path = "/api/v1/pools/{id}/targets/{target}", tag = "pools", params(("id" = u16, Path), ("target" = u16, Path)),
    responses((status = 200, body = Vec<PoolView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn put(
    State(state): State<RestState>,
    Path((id, target)): Path<(String, String)>,
) -> Result<Json<Vec<PoolView>>, ApiError> {
    let (pool, target) = (parse_id(&id, "storage pool")?, parse_id(&target, "target")?);
    order(&state, PoolOrder::SetPool { target, pool }).await
}
