// SPDX-License-Identifier: Apache-2.0

//! Orders to one mirror group: `POST /groups/{id}/resync` stops resync or lets it go on, `POST /groups/{id}/primary` gives
//! the lead to another good member.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::groups::{GroupView, order};
use super::state::RestState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_wire::TargetId;
use nyala_wire::mgmt::GroupOrder;
use serde::Deserialize;
use utoipa::ToSchema;

/// Whether resync is to run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Resync {
    /// `true`: no resync in this group until somebody says `false`.
    stopped: bool,
}

/// Who is to lead.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPrimary {
    /// A good member that is online.
    target: u16,
}

/// Stops resync in a mirror group, or lets it go on.
#[utoipa::path(post, path = "/api/v1/groups/{id}/resync", tag = "groups", params(("id" = u16, Path)), request_body = Resync,
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn resync(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<GroupView>>, ApiError> {
    let group = parse_id(&id, "mirror group")?;
    let Resync { stopped } = parse(&body)?;
    order(&state, GroupOrder::StopResync { group, stopped }).await
}

/// Makes another good member of a mirror group its primary.
#[utoipa::path(post, path = "/api/v1/groups/{id}/primary", tag = "groups", params(("id" = u16, Path)),
    request_body = NewPrimary,
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn primary(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<GroupView>>, ApiError> {
    let group = parse_id(&id, "mirror group")?;
    let NewPrimary { target } = parse(&body)?;
    order(&state, GroupOrder::Switch { group, target: TargetId(target) }).await
}
