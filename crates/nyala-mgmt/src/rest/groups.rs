// SPDX-License-Identifier: Apache-2.0

//! The mirror groups: `GET /groups`, `POST /groups` (one, its members named), `POST /groups/auto` (of all free targets),
//! `DELETE /groups/{id}`.

use super::error::{ApiError, ErrorBody, parse, parse_id};
use super::state::RestState;
use crate::groups::carry_out;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_cluster::ClusterState;
use nyala_wire::map::{MemberState, Reachability, TargetKind};
use nyala_wire::mgmt::GroupOrder;
use nyala_wire::{GroupId, TargetId};
use serde::{Deserialize, Serialize};
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
    members: Vec<MemberView>,
    /// An operator has stopped resync.
    resync_stopped: bool,
    /// The member without which the group cannot serve: the last good one, while it is away.
    waits_for: Option<u16>,
}

/// A member of a mirror group.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MemberView {
    target: u16,
    /// `good`, `needs-resync`, `resyncing` or `bad`.
    #[schema(value_type = String)]
    state: MemberState,
    /// `online`, `probably-offline` or `offline`.
    #[schema(value_type = String)]
    reachability: Reachability,
}

/// A group to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewGroup {
    /// 0, or absent: the next one.
    #[serde(default)]
    id: u16,
    /// `meta` or `storage`.
    #[schema(value_type = String)]
    kind: TargetKind,
    /// 2 to 4 targets, the primary first; in no group yet, online and good.
    members: Vec<u16>,
}

/// Groups to make of all targets that are in none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AutoGroups {
    /// `meta` or `storage`.
    #[schema(value_type = String)]
    kind: TargetKind,
    /// Members of each group, 2 to 4.
    #[serde(default = "two")]
    members: u8,
    /// Members of a group may differ in size by more than 10 percent.
    #[serde(default)]
    ignore_space: bool,
    /// Targets for which no partner is left may stay as they are.
    #[serde(default)]
    ignore_uneven: bool,
}

/// What a removal has to say.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Removal {
    /// The word that no file has data in the group (any more), or that the data is given up.
    pub(super) content_gone: bool,
}

fn two() -> u8 {
    2
}

/// All groups as they are shown.
pub(super) fn views(state: &ClusterState) -> Json<Vec<GroupView>> {
    let reachability = |t| state.target(t).map_or(Reachability::Offline, |t| t.state.reachability);
    let view = state.groups.iter().map(|g| GroupView {
        id: g.id.0,
        kind: g.kind,
        epoch: g.epoch,
        members: g
            .members_with_states()
            .map(|(t, state)| MemberView { target: t.0, state, reachability: reachability(t) })
            .collect(),
        resync_stopped: g.resync_stopped,
        waits_for: state.group_waits_for(g).map(|t| t.0),
    });
    Json(view.collect())
}

/// Carries an order out and shows all groups.
pub(super) async fn order(state: &RestState, order: GroupOrder) -> Result<Json<Vec<GroupView>>, ApiError> {
    carry_out(&state.core, order).await?;
    Ok(views(&state.core.view.state()))
}

/// The mirror groups with their members.
#[utoipa::path(get, path = "/api/v1/groups", tag = "groups",
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<GroupView>> {
    views(&state.core.view.state())
}

/// Makes a mirror group of the targets that are named.
#[utoipa::path(post, path = "/api/v1/groups", tag = "groups", request_body = NewGroup,
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn post(State(state): State<RestState>, body: Bytes) -> Result<Json<Vec<GroupView>>, ApiError> {
    let NewGroup { id, kind, members } = parse(&body)?;
    let members = members.into_iter().map(TargetId).collect();
    order(&state, GroupOrder::Create { group: GroupId(id), kind, members }).await
}

/// Makes mirror groups of all targets that are in none.
#[utoipa::path(post, path = "/api/v1/groups/auto", tag = "groups", request_body = AutoGroups,
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn auto(State(state): State<RestState>, body: Bytes) -> Result<Json<Vec<GroupView>>, ApiError> {
    let AutoGroups { kind, members, ignore_space, ignore_uneven } = parse(&body)?;
    order(&state, GroupOrder::CreateAll { kind, members, ignore_space, ignore_uneven }).await
}

/// Removes a mirror group.
#[utoipa::path(delete, path = "/api/v1/groups/{id}", tag = "groups", params(("id" = u16, Path)), request_body = Removal,
    responses((status = 200, body = Vec<GroupView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<GroupView>>, ApiError> {
    let group = parse_id(&id, "mirror group")?;
    let Removal { content_gone } = parse(&body)?;
    order(&state, GroupOrder::Remove { group, content_gone }).await
}
