// SPDX-License-Identifier: Apache-2.0

//! `GET /mgmt`: the management nodes. `DELETE /mgmt/{id}`: one of them goes, for good.

use super::error::{ApiError, ErrorBody, parse_id};
use super::state::RestState;
use crate::members;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use nyala_wire::mgmt::MgmtRole;
use nyala_wire::{ErrorCode, NodeId};
use serde::Serialize;
use utoipa::ToSchema;

/// A management node.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MgmtView {
    id: u32,
    alias: String,
    addresses: Vec<String>,
    /// `leader`, `follower` (it has a vote) or `learner` (it has none yet).
    #[schema(value_type = String)]
    role: MgmtRole,
    /// Last entry of the log that it has on disk; null if it has none.
    log: Option<u64>,
    /// Whether it answered the leader within the last second.
    reachable: bool,
}

fn views(state: &RestState) -> Json<Vec<MgmtView>> {
    let nodes = members::list(&state.core).into_iter().map(|node| MgmtView {
        id: node.node.0,
        alias: node.alias,
        addresses: node.addresses.iter().map(ToString::to_string).collect(),
        role: node.role,
        log: node.log,
        reachable: node.reachable,
    });
    Json(nodes.collect())
}

/// The management nodes.
#[utoipa::path(get, path = "/api/v1/mgmt", tag = "mgmt",
    responses((status = 200, body = Vec<MgmtView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<MgmtView>> {
    views(&state)
}

/// Removes a management node for good, alive or dead; refused where those that remain would have no majority.
#[utoipa::path(delete, path = "/api/v1/mgmt/{id}", tag = "mgmt", params(("id" = u32, Path)),
    responses((status = 200, body = Vec<MgmtView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<Vec<MgmtView>>, ApiError> {
    let node: NodeId = parse_id(&id, "management node")?;
    members::remove(&state.core, node).await.map_err(|error| match error.code {
        ErrorCode::INVALID => ApiError::invalid(error.message),
        ErrorCode::NOT_READY => ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", error.message),
        _ => ApiError::new(StatusCode::CONFLICT, "conflict", error.message),
    })?;
    Ok(views(&state))
}
