// SPDX-License-Identifier: Apache-2.0

//! The REST API: JSON over HTTP, for operators and their tools. One handler per file; `openapi.rs` describes them all.
//!
//! **Failure model.** Anybody on the machine can connect: everything but the description wants the token, bodies are
//! bounded, and what cannot be understood gets `{code, message}` with a status of 4xx. A node that does not lead answers
//! 503, whether asked or told.

mod auth;
mod capacities;
mod cluster;
mod error;
mod groups;
mod health;
mod map;
mod nodes;
mod openapi;
mod pools;
mod rename_node;
mod rename_target;
mod settings;
mod target_state;
mod targets;
mod token;
mod views;

pub(crate) use token::Token;

use crate::core::Core;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, patch, post, put};
use std::future::Future;
use std::sync::Arc;

/// Longest body of a request, bytes.
const MAX_BODY: usize = 64 << 10;

/// What handlers work with.
#[derive(Clone)]
pub(crate) struct RestState {
    core: Arc<Core>,
    token: Token,
}

/// Serves until `stop` is done and the connections have finished.
pub(crate) async fn serve(
    listener: tokio::net::TcpListener,
    core: Arc<Core>,
    token: Token,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let app = router(RestState { core, token });
    axum::serve(listener, app).with_graceful_shutdown(stop).await
}

fn router(state: RestState) -> Router {
    let api = Router::new()
        .route("/cluster", get(cluster::get))
        .route("/map", get(map::get))
        .route("/nodes", get(nodes::get))
        .route("/nodes/{id}", patch(rename_node::patch))
        .route("/targets", get(targets::get))
        .route("/targets/{id}", patch(rename_target::patch))
        .route("/targets/{id}/state", post(target_state::post))
        .route("/pools", get(pools::get))
        .route("/groups", get(groups::get))
        .route("/capacities", get(capacities::get))
        .route("/health", get(health::get))
        .route("/settings", put(settings::put))
        .layer(from_fn_with_state(state.clone(), auth::require_leader))
        .layer(from_fn_with_state(state.clone(), auth::require_token));
    Router::new()
        .nest("/api/v1", api)
        .route("/api/v1/openapi.json", get(openapi::get))
        .fallback(error::no_such_path)
        .method_not_allowed_fallback(error::no_such_method)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(state)
}
