// SPDX-License-Identifier: Apache-2.0

//! `/access`: which clients are let in, and to what.
//!
//! **Failure model.** A rule is in force at a server when the map with it arrives there, a moment after the answer. Management does not look
//! at the file system: a number that is no directory's leaves the clients nothing to see.

use super::access_view::AccessRuleView;
use super::error::{ApiError, ErrorBody, parse};
use super::state::RestState;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use nyala_cluster::Command;
use nyala_transport::check_clients_key;
use nyala_wire::access_rules::{ANY_KEY, Network};
use nyala_wire::restriction::{Asker, access_rule};
use nyala_wire::rule_checks::access_rule_exists;
use serde::Deserialize;
use std::net::IpAddr;
use utoipa::{IntoParams, ToSchema};

/// Whose access rule ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WhoseRule {
    /// The id of the key; `*` for any.
    key: String,
    /// The network; null: the rule for clients anywhere.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    from: Option<Network>,
}

fn views(state: &RestState) -> Json<Vec<AccessRuleView>> {
    Json(state.core.view.map().access_rules.iter().map(AccessRuleView::from).collect())
}

/// Which rule counts for whom.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(super) struct Counts {
    /// The id of a key: with `address`, only the rule that counts for its clients there is listed.
    key: Option<String>,
    /// The address of a client, with `key`.
    #[param(value_type = Option<String>)]
    address: Option<IpAddr>,
}

/// Which clients are let in, and to what. An empty list for a key and an address: no access rule counts there, but one of the key may
/// (`/api/v1/keys`).
#[utoipa::path(get, path = "/api/v1/access", tag = "access", params(Counts),
    responses((status = 200, body = Vec<AccessRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(
    State(state): State<RestState>,
    asked: Result<Query<Counts>, QueryRejection>,
) -> Result<Json<Vec<AccessRuleView>>, ApiError> {
    let Query(Counts { key, address }) = asked.map_err(|error| ApiError::invalid(error.body_text()))?;
    match (key, address) {
        (None, None) => Ok(views(&state)),
        (Some(key), Some(address)) => {
            let map = state.core.view.map();
            let counts = access_rule(&map, Asker { key: &key, operator: false, address });
            Ok(Json(counts.map(AccessRuleView::from).into_iter().collect()))
        }
        _ => Err(ApiError::invalid("which rule counts depends on both: give key and address, or neither")),
    }
}

/// Says what holds for the clients of a key, of a network, or both, instead of what did. A root holds clients that lie only where servers have keys of their own.
#[utoipa::path(put, path = "/api/v1/access", tag = "access", request_body = AccessRuleView,
    responses((status = 200, body = Vec<AccessRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn put(State(state): State<RestState>, body: Bytes) -> Result<Json<Vec<AccessRuleView>>, ApiError> {
    let rule = parse::<AccessRuleView>(&body)?.rule()?;
    if rule.rule.key != ANY_KEY {
        check_clients_key(&state.secret.grants(), &rule.rule.key).map_err(ApiError::invalid)?;
    }
    state.core.propose(Command::SetAccessRule(rule)).await?;
    Ok(views(&state))
}

/// Removes the rule for these clients.
#[utoipa::path(delete, path = "/api/v1/access", tag = "access", request_body = WhoseRule,
    responses((status = 200, body = Vec<AccessRuleView>), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(State(state): State<RestState>, body: Bytes) -> Result<Json<Vec<AccessRuleView>>, ApiError> {
    let WhoseRule { key, from } = parse(&body)?;
    access_rule_exists(&state.core.view.map(), &key, from).map_err(ApiError::not_found)?;
    state.core.propose(Command::RemoveAccessRule { key, network: from }).await?;
    Ok(views(&state))
}
