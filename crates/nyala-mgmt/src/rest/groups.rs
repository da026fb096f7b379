// SPDX-License-Identifier: Apache-2.0

//! `GET /groups`: the mirror groups.

use super::RestState;
use super::error::ErrorBody;
use axum::Json;
use axum::extract::State;
use nyala_wire::map::TargetKind;
use serde::Serialize;
use utoipa::ToSchema;

/// A mirror group.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GroupView {
    id: u16,
    /// `meta` or `storage`.
    #[schema(value_type = String)]
    kind: TargetKind,
    /// Grows with every change of members or of their states.
    epoch: u32,
    /// Targets, the primary first.
    members: Vec<u16>,
}

#[utoipa::path(get, path = "/api/v1/groups", tag = "groups",
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<GroupView>> {
    let cluster = state.core.view.state();
    let view = cluster.groups.iter().map(|g| GroupView {
        id: g.id.0,
        kind: g.kind,
        epoch: g.epoch,
        members: g.members.iter().map(|t| t.0).collect(),
    });
    Json(view.collect())
}
