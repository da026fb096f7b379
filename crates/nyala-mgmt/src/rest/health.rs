// SPDX-License-Identifier: Apache-2.0

//! `GET /health`: one word, and what is wrong.

use super::RestState;
use super::error::ErrorBody;
use axum::Json;
use axum::extract::State;
use nyala_cluster::{ClusterState, group_diagnosis};
use nyala_wire::map::{CapacityPool, Consistency, Reachability, TargetKind};
use serde::Serialize;
use utoipa::ToSchema;

/// The cluster's health.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HealthView {
    /// `ok`, `degraded` (something needs a look) or `down` (no file can be made).
    status: String,
    /// One sentence per problem.
    problems: Vec<String>,
}

#[utoipa::path(get, path = "/api/v1/health", tag = "cluster",
    responses((status = 200, body = HealthView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<HealthView> {
    Json(judge(&state.core.view.state()))
}

fn judge(state: &ClusterState) -> HealthView {
    let mut problems = Vec::new();
    for node in state.nodes.iter().filter(|n| n.reachability != Reachability::Online) {
        problems.push(format!("node {} ({}) is {}", node.id, node.alias, word(&node.reachability)));
    }
    for target in &state.targets {
        let name = format!("target {} ({})", target.id, target.alias);
        if target.state.reachability != Reachability::Online {
            problems.push(format!("{name} is {}", word(&target.state.reachability)));
        }
        if target.state.consistency != Consistency::Good {
            problems.push(format!("{name} is {}", word(&target.state.consistency)));
        }
        if target.capacity_pool != CapacityPool::Normal {
            problems.push(format!("{name} has little space: {}", word(&target.capacity_pool)));
        }
    }
    for group in &state.groups {
        let offline = |t| state.target(t).is_none_or(|t| t.state.reachability == Reachability::Offline);
        problems.extend(group_diagnosis(group, offline));
    }
    let serves = |kind| {
        let mut of_kind = state.targets.iter().filter(|t| t.kind == kind);
        of_kind.any(|t| t.state.reachability != Reachability::Offline && t.state.consistency != Consistency::Bad)
    };
    let down = [(TargetKind::Meta, "metadata"), (TargetKind::Storage, "storage")];
    let missing: Vec<_> = down.iter().filter(|(kind, _)| !serves(*kind)).collect();
    problems.extend(missing.iter().map(|(_, what)| format!("no {what} target can be reached")));
    let status = match (missing.is_empty(), problems.is_empty()) {
        (false, _) => "down",
        (true, false) => "degraded",
        (true, true) => "ok",
    };
    HealthView { status: status.to_owned(), problems }
}

/// A state as it is written in JSON, without the quotes.
pub(crate) fn word(state: &impl Serialize) -> String {
    match serde_json::to_value(state) {
        Ok(serde_json::Value::String(text)) => text,
        other => format!("{other:?}"),
    }
}
