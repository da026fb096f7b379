// SPDX-License-Identifier: Apache-2.0

//! `PATCH /nodes/{id}`: another alias.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::state::RestState;
use super::views::{NewAlias, NodeView, nodes};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_cluster::{Command, Thing};
use nyala_wire::NodeId;

/// Gives a node another alias.
#[utoipa::path(patch, path = "/api/v1/nodes/{id}", tag = "nodes", params(("id" = u32, Path)), request_body = NewAlias,
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn patch(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<NodeView>>, ApiError> {
    let node: NodeId = parse_id(&id, "node")?;
    let NewAlias { alias } = parse(&body)?;
    state.core.propose(Command::Rename { thing: Thing::Node(node), alias }).await?;
    Ok(Json(nodes(&state.core.view.state(), Some(node))))
}
