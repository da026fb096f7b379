// SPDX-License-Identifier: Apache-2.0

//! `PUT /settings`: the settings of the whole cluster, all of them at once.

use super::error::{ApiError, ErrorBody, parse};
use super::state::RestState;
use super::views::SettingsView;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use nyala_cluster::Command;

/// Sets the settings of the whole cluster, all of them at once.
#[utoipa::path(put, path = "/api/v1/settings", tag = "cluster", request_body = SettingsView,
    responses((status = 200, body = SettingsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn put(State(state): State<RestState>, body: Bytes) -> Result<Json<SettingsView>, ApiError> {
    let settings: SettingsView = parse(&body)?;
    let settings = settings.replacing(&state.core.view.state().settings);
    state.core.propose(Command::SetSettings(settings)).await?;
    Ok(Json(SettingsView::from(&state.core.view.state().settings)))
}
