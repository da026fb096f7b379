// SPDX-License-Identifier: Apache-2.0

//! `GET /map`: the whole cluster map as servers and clients see it.

use super::error::ErrorBody;
use super::state::RestState;
use axum::Json;
use axum::extract::State;
use nyala_wire::map::ClusterMap;

/// The cluster map, as services and clients get it.
#[utoipa::path(get, path = "/api/v1/map", tag = "cluster",
    responses((status = 200, body = serde_json::Value), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<ClusterMap> {
    Json(state.core.view.map().as_ref().clone())
}
