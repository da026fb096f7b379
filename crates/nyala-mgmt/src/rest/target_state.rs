// SPDX-License-Identifier: Apache-2.0

//! `POST /targets/{id}/state`: an operator's word on a target's content.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::state::RestState;
use super::views::{TargetView, targets};
use crate::evacuation::forgive;
use crate::groups::declare;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_wire::TargetId;
use nyala_wire::map::Consistency;
use serde::Deserialize;
use utoipa::ToSchema;

/// The operator's word.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewState {
    /// `good`, `needs-resync` or `bad`.
    #[schema(value_type = String)]
    consistency: Consistency,
}

/// Declares what a target's content is worth.
#[utoipa::path(post, path = "/api/v1/targets/{id}/state", tag = "targets", params(("id" = u16, Path)),
    request_body = NewState,
    responses((status = 200, body = Vec<TargetView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn post(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<TargetView>>, ApiError> {
    let target: TargetId = parse_id(&id, "target")?;
    let NewState { consistency } = parse(&body)?;
    forgive(&state.core, target, consistency).await?;
    state.core.propose(declare(target, consistency)).await?;
    Ok(Json(targets(&state.core, Some(target))))
}
