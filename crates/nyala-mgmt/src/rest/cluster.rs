// SPDX-License-Identifier: Apache-2.0

//! `GET /cluster`: what cluster this is.

use super::error::ErrorBody;
use super::state::RestState;
use super::views::SettingsView;
use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

/// The cluster.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClusterView {
    /// Its id, 32 hexadecimal digits.
    id: String,
    /// Version of the cluster map.
    version: u64,
    settings: SettingsView,
}

/// What cluster this is, and its settings.
#[utoipa::path(get, path = "/api/v1/cluster", tag = "cluster",
    responses((status = 200, body = ClusterView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<ClusterView> {
    let cluster = state.core.view.state();
    let settings = SettingsView::from(&cluster.settings);
    Json(ClusterView { id: cluster.cluster.to_string(), version: cluster.version.0, settings })
}
