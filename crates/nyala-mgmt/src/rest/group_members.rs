// SPDX-License-Identifier: Apache-2.0

//! Members of a mirror group: `PUT /groups/{id}/members/{target}` adds one, `DELETE` takes one out.

use super::error::{ApiError, ErrorBody, parse_id};
use super::groups::{GroupView, order};
use super::state::RestState;
use axum::Json;
use axum::extract::{Path, State};
use nyala_wire::mgmt::GroupOrder;

/// Adds a target to a mirror group. The target must be online and hold nothing: that is for the caller to know.
#[utoipa::path(put, path = "/api/v1/groups/{id}/members/{target}", tag = "groups", params(("id" = u16, Path), ("target" = u16, Path)),
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn put(
    State(state): State<RestState>,
    Path((id, target)): Path<(String, String)>,
) -> Result<Json<Vec<GroupView>>, ApiError> {
    let (group, target) = (parse_id(&id, "mirror group")?, parse_id(&target, "target")?);
    order(&state, GroupOrder::AddMember { group, target }).await
}

/// Takes a target out of a mirror group.
#[utoipa::path(delete, path = "/api/v1/groups/{id}/members/{target}", tag = "groups", params(("id" = u16, Path), ("target" = u16, Path)),
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path((id, target)): Path<(String, String)>,
) -> Result<Json<Vec<GroupView>>, ApiError> {
    let (group, target) = (parse_id(&id, "mirror group")?, parse_id(&target, "target")?);
    order(&state, GroupOrder::RemoveMember { group, target }).await
}
