// SPDX-License-Identifier: Apache-2.0

//! `GET /nodes`: all registered services.

use super::RestState;
use super::error::ErrorBody;
use super::views::{NodeView, nodes};
use axum::Json;
use axum::extract::State;

#[utoipa::path(get, path = "/api/v1/nodes", tag = "nodes",
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<NodeView>> {
    Json(nodes(&state.core.view.state(), None))
}
