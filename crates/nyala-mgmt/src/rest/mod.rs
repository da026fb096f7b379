// SPDX-License-Identifier: Apache-2.0

//! The REST API: JSON over HTTP, for operators and their tools. One handler per file; `openapi.rs` describes them all.
//!
//! **Failure model.** Anybody on the machine can connect: everything but the description wants the token, bodies are
//! bounded, and what cannot be understood gets `{code, message}` with a status of 4xx. A node that does not lead answers
//! 503, whether asked or told. Connections are limited in number and time: [`connections`].

mod access;
mod access_view;
mod agree;
mod auth;
mod capacities;
mod cluster;
mod connections;
mod error;
pub(crate) mod fuzzing;
mod group_members;
mod group_orders;
mod groups;
mod health;
mod held;
mod issued;
mod keys;
mod map;
mod mgmt;
mod nodes;
mod openapi;
mod pools;
mod proof;
#[cfg(test)]
mod reference;
mod rename_node;
mod rename_target;
mod rules;
mod settings;
mod setup_error;
mod state;
mod target_state;
mod targets;
pub(crate) mod tls;
mod token;
mod views;

pub(crate) use access::{Access, Shown};
pub(crate) use health::word;
pub(crate) use proof::Proof;
pub use setup_error::RestError;
use state::{MAX_BODY, RestState};
pub(crate) use token::Tokens;
pub use token::issue_token;

use crate::web::{self, Sources};
use crate::{MgmtError, core::Core};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, patch, post, put};
use nyala_transport::Secret;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Longest wait for connections to finish when the service stops.
const GRACE: Duration = Duration::from_secs(1);

/// The running API.
pub(crate) struct Rest {
    task: tokio::sync::Mutex<JoinHandle<()>>,
    stop: oneshot::Sender<()>,
}

/// Where it is served: the socket, and with which certificate.
pub(crate) struct RestListener {
    pub listener: TcpListener,
    /// None: HTTP as it is.
    pub tls: Option<Arc<tls::Tls>>,
    /// The keys that rules can be about.
    pub secret: Secret,
}

/// Starts to serve: the API, and pages beside it.
pub(crate) fn serve(on: RestListener, core: Arc<Core>, tokens: Tokens, sources: Sources) -> Result<Rest, MgmtError> {
    let RestListener { listener, tls, secret } = on;
    let address = listener.local_addr().unwrap_or(([0, 0, 0, 0], 0).into());
    let listener = tokio::net::TcpListener::from_std(listener);
    let listener = listener.map_err(|cause| MgmtError::RestListen { address, cause })?;
    let pages = web::router(core.clone(), (tokens.clone(), tls.is_some()), sources.clone());
    let app = router(RestState { core, tokens, secret, sampled: sources.0 }).merge(pages);
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(connections::serve(listener, tls, app, stopped));
    Ok(Rest { task: tokio::sync::Mutex::new(task), stop })
}

impl Rest {
    /// Waits until it ends, which it does not do by itself.
    pub(crate) async fn ended(&self) -> MgmtError {
        let ended = (&mut *self.task.lock().await).await;
        MgmtError::Raft(format!("the REST API ended: {ended:?}"))
    }

    /// Stops it; connections have a moment to finish.
    pub(crate) async fn stop(self) {
        let mut task = self.task.into_inner();
        // The receiver is gone if HTTP has ended by itself.
        let _ = self.stop.send(());
        if !task.is_finished() && tokio::time::timeout(GRACE, &mut task).await.is_err() {
            task.abort();
        }
    }
}

fn router(state: RestState) -> Router {
    let api = Router::new()
        .route("/cluster", get(cluster::get))
        .route("/map", get(map::get))
        .route("/mgmt", get(mgmt::get))
        .route("/mgmt/{id}", delete(mgmt::delete))
        .route("/nodes", get(nodes::get))
        .route("/nodes/{id}", patch(rename_node::patch).delete(nodes::delete))
        .route("/targets", get(targets::get))
        .route("/targets/{id}", patch(rename_target::patch).delete(targets::delete))
        .route("/targets/{id}/state", post(target_state::post))
        .route("/pools", get(pools::get).post(pools::post))
        .route("/pools/{id}", patch(pools::patch).delete(pools::delete))
        .route("/pools/{id}/targets/{target}", put(pools::put))
        .route("/groups", get(groups::get).post(groups::post))
        .route("/groups/auto", post(groups::auto))
        .route("/groups/{id}", delete(groups::delete))
        .route("/groups/{id}/resync", post(group_orders::resync))
        .route("/groups/{id}/primary", post(group_orders::primary))
        .route("/groups/{id}/members/{target}", put(group_members::put).delete(group_members::delete))
        .route("/access", get(rules::get).put(rules::put).delete(rules::delete))
        .route("/keys", get(keys::get))
        .route("/keys/{id}", put(keys::put).delete(keys::delete))
        .route("/capacities", get(capacities::get))
        .route("/health", get(health::get))
        .route("/settings", put(settings::put))
        .layer(from_fn_with_state(state.clone(), auth::write_down))
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
