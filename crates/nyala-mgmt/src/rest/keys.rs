// SPDX-License-Identifier: Apache-2.0

//! `/keys`: what servers hold the clients of a key to.
//!
//! **Failure model.** A rule is in force at a server when the map with it arrives there, a moment after the answer. Which keys there are is
//! what the secret file of the management node that leads says.

use super::error::{ApiError, ErrorBody, parse};
use super::held::HeldView;
use super::state::RestState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use nyala_cluster::Command;
use nyala_transport::check_clients_key;
use nyala_wire::key_rules::KeyRule;
use nyala_wire::rule_checks::{key_rule_counts, key_rule_exists};
use serde::Serialize;
use utoipa::ToSchema;

/// What the clients of a key are held to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct KeyRuleView {
    /// The key's id, as `nyala secret list` shows it.
    key: String,
    held: HeldView,
}

fn views(state: &RestState) -> Json<Vec<KeyRuleView>> {
    let map = state.core.view.map();
    Json(map.key_rules.iter().map(|rule| KeyRuleView { key: rule.key.clone(), held: rule.into() }).collect())
}

/// What clients are held to, by the key that they show. Keys that are not there are held to nothing.
#[utoipa::path(get, path = "/api/v1/keys", tag = "access",
    responses((status = 200, body = Vec<KeyRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(State(state): State<RestState>) -> Json<Vec<KeyRuleView>> {
    views(&state)
}

/// Says what servers hold the clients of a key to, instead of what they did; the key must be for clients alone.
#[utoipa::path(put, path = "/api/v1/keys/{id}", tag = "access", params(("id" = String, Path)), request_body = HeldView,
    responses((status = 200, body = Vec<KeyRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn put(
    State(state): State<RestState>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<Vec<KeyRuleView>>, ApiError> {
    let rule = parse::<HeldView>(&body)?.rule(id);
    rule.check().map_err(ApiError::invalid)?;
    if rule.is_none() {
        return Err(ApiError::invalid(format!(
            "the body holds the clients of key {0} to nothing; DELETE /api/v1/keys/{0} ends a rule",
            rule.key
        )));
    }
    check_clients_key(&state.secret.grants(), &rule.key).map_err(ApiError::invalid)?;
    key_rule_counts(&state.core.view.map(), &rule.key).map_err(ApiError::conflict)?;
    state.core.propose(Command::SetKeyRule(rule)).await?;
    Ok(views(&state))
}

/// Holds the clients of a key to nothing any more.
#[utoipa::path(delete, path = "/api/v1/keys/{id}", tag = "access", params(("id" = String, Path)),
    responses((status = 200, body = Vec<KeyRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<Vec<KeyRuleView>>, ApiError> {
    key_rule_exists(&state.core.view.map(), &id).map_err(ApiError::not_found)?;
    state.core.propose(Command::SetKeyRule(KeyRule::none(id))).await?;
    Ok(views(&state))
}
