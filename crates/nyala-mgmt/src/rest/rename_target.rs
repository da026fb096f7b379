// SPDX-License-Identifier: Apache-2.0

//! `PATCH /targets/{id}`: another alias.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::state::RestState;
use super::views::{NewAlias, TargetView, targets};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_cluster::{Command, Thing};
use nyala_wire::TargetId;

/// Gives a target another alias.
#[utoipa::path(patch, path = "/api/v1/targets/{id}", tag = "targets", params(("id" = u16, Path)), request_body = NewAlias,
    responses((status = 200, body = Vec<TargetView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn patch(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<TargetView>>, ApiError> {
    let target: TargetId = parse_id(&id, "target")?;
    let NewAlias { alias } = parse(&body)?;
    state.core.propose(Command::Rename { thing: Thing::Target(target), alias }).await?;
    Ok(Json(targets(&state.core, Some(target))))
}
