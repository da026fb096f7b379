// SPDX-License-Identifier: Apache-2.0

//! `GET /health`: one word, and what is wrong.

use super::error::ErrorBody;
use super::state::RestState;
use axum::Json;
use axum::extract::State;
use nyala_cluster::health::{Finding, Probe, Severity, findings, worst};
use nyala_wire::map::ClusterMap;
use serde::Serialize;
use utoipa::ToSchema;

/// The cluster's health.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HealthView {
    /// `ok`, `degraded` (something needs a look) or `down` (some files can be neither read nor written, or none can be made).
    status: String,
    /// One sentence per problem.
    problems: Vec<String>,
    /// The same, with how bad it is (`severity`), what it is about, and what to do (`advice`).
    #[schema(value_type = Vec<serde_json::Value>)]
    findings: Vec<Finding>,
}

/// One word, and what is wrong with what to do about it.
#[utoipa::path(get, path = "/api/v1/health", tag = "cluster",
    responses((status = 200, body = HealthView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<HealthView> {
    state.sampled.looked();
    let (map, (figures, _)) = (state.core.view.map(), state.sampled.latest());
    Json(judge(&map, &figures.map(|figures| figures.probes(&map)).unwrap_or_default()))
}

fn judge(map: &ClusterMap, probes: &[Probe]) -> HealthView {
    let findings = findings(map, probes);
    let status = match worst(&findings) {
        Some(Severity::Down) => "down",
        Some(Severity::Degraded | Severity::Notice) => "degraded",
        None => "ok",
    };
    let problems = findings.iter().map(|finding| finding.what.clone()).collect();
    HealthView { status: status.to_owned(), problems, findings }
}

/// A state as it is written in JSON, without the quotes.
pub(crate) fn word(state: &impl Serialize) -> String {
    match serde_json::to_value(state) {
        Ok(serde_json::Value::String(text)) => text,
        other => format!("{other:?}"),
    }
}
