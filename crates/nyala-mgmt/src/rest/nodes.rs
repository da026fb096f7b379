// SPDX-License-Identifier: Apache-2.0

//! `GET /nodes`: all registered services. `DELETE /nodes/{id}`: one of them goes, for good.

use super::error::{ApiError, ErrorBody, parse_id};
use super::state::RestState;
use super::views::{NodeView, nodes};
use crate::groups::carry_out;
use axum::Json;
use axum::extract::{Path, State};
use nyala_wire::mgmt::GroupOrder;

/// All nodes.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "nodes",
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<NodeView>> {
    Json(nodes(&state.core.view.state(), None))
}

/// Removes a metadata or storage node for good; it must be offline and without targets.
#[utoipa::path(delete, path = "/api/v1/nodes/{id}", tag = "nodes", params(("id" = u32, Path)),
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<Vec<NodeView>>, ApiError> {
    carry_out(&state.core, GroupOrder::RemoveNode { node: parse_id(&id, "node")? }).await?;
    Ok(Json(nodes(&state.core.view.state(), None)))
}
