// SPDX-License-Identifier: Apache-2.0

//! The web page, on the REST API's port: what [`nyala_web`] makes of what this node knows, live, and with actions for administrators.
//!
//! Any node shows it: the map and the last changes are its own, figures it asks of all services itself ([`Sampler`]), so that a page comes
//! also where there is no majority. Pages are made once for every change and everybody who looks, on threads for blocking work.
//!
//! **Failure model.** Strangers can connect: they see the way in and the assets, nothing else; who has shown a token has a session, of which there
//! are a bounded number for a bounded time, in this process's memory. A page of another origin may make a browser send things here: the
//! cookie is not sent along then (`SameSite=Strict`), and what changes something wants a word that only our own pages know. Names
//! from the cluster may be anything: templates escape them, and the policy for content lets no script run but ours. Services may be away:
//! figures are missing, the page is not.

mod act;
mod files;
mod headers;
mod live;
mod locator;
mod logic;
mod login;
mod pages;
mod render;
mod sampled;
mod sampler;
mod state;
mod visitor;

pub(crate) use locator::Locator;
pub(crate) use sampled::Sampled;
pub(crate) use sampler::Sampler;

use crate::core::Core;
use crate::rest::Tokens;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use nyala_web::Page;
use state::WebState;
use std::sync::Arc;

/// What pages are made from beside the state: figures over time, and the way to a file.
pub(crate) type Sources = (Arc<Sampled>, Arc<Locator>);

/// Longest form, bytes.
const MAX_FORM: usize = 4 << 10;

/// The pages.
pub(crate) fn router(core: Arc<Core>, (tokens, is_encrypted): (Tokens, bool), (sampled, locator): Sources) -> Router {
    let (sessions, rendered) = (Arc::default(), Arc::default());
    let state = WebState { core, tokens, is_encrypted, sessions, sampled, rendered, locator };
    let made = Page::ALL.into_iter().filter(|page| *page != Page::Files);
    let pages = made.fold(Router::new(), |router, page| router.route(page.path(), get(pages::page)));
    pages
        .route(Page::Files.path(), get(files::files))
        .route("/live", get(live::live))
        .route("/act", get(act::ask).post(act::act))
        .route("/login", get(login::ask).post(login::login))
        .route("/logout", post(login::logout))
        .route("/assets/style.css", get(pages::style))
        .route("/assets/live.js", get(pages::script))
        .route("/assets/icon.svg", get(pages::icon))
        .layer(DefaultBodyLimit::max(MAX_FORM))
        .layer(from_fn(headers::add))
        .with_state(state)
}
