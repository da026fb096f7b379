// SPDX-License-Identifier: Apache-2.0

//! `GET /targets`: all targets with state and capacity. `DELETE /targets/{id}`: one of them goes, for good.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::groups::Removal;
use super::state::RestState;
use super::views::{TargetView, targets};
use crate::groups::carry_out;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_wire::mgmt::GroupOrder;

/// All targets, with state and capacity.
#[utoipa::path(get, path = "/api/v1/targets", tag = "targets",
    responses((status = 200, body = Vec<TargetView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<TargetView>> {
    Json(targets(&state.core, None))
}

/// Removes a storage target for good; it must be offline and in no mirror group.
#[utoipa::path(delete, path = "/api/v1/targets/{id}", tag = "targets", params(("id" = u16, Path)), request_body = Removal,
    responses((status = 200, body = Vec<TargetView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<TargetView>>, ApiError> {
    let target = parse_id(&id, "target")?;
    let Removal { content_gone } = parse(&body)?;
    carry_out(&state.core, GroupOrder::RemoveTarget { target, content_gone }).await?;
    Ok(Json(targets(&state.core, None)))
}
