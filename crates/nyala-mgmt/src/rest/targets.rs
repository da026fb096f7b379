// SPDX-License-Identifier: Apache-2.0

//! `GET /targets`: all targets with state and capacity.

use super::RestState;
use super::error::ErrorBody;
use super::views::{TargetView, targets};
use axum::Json;
use axum::extract::State;

#[utoipa::path(get, path = "/api/v1/targets", tag = "targets",
    responses((status = 200, body = Vec<TargetView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<TargetView>> {
    Json(targets(&state.core, None))
}
