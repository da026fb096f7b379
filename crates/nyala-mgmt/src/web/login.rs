// SPDX-License-Identifier: Apache-2.0

//! The way in and out.

use super::headers::from_elsewhere;
use super::state::{WebState, give};
use super::visitor::{Visitor, cookie};
use crate::clock::wall_ms;
use crate::counters::count;
use crate::directory::random_id;
use crate::rest::Proof;
use axum::extract::{Extension, Form, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Redirect, Response};

pub(super) async fn ask(State(state): State<WebState>) -> Html<String> {
    count(&state.core.counters.rest_requests);
    Html(nyala_web::login(None))
}

pub(super) async fn login(
    State(state): State<WebState>,
    proof: Option<Extension<Proof>>,
    headers: HeaderMap,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    count(&state.core.counters.rest_requests);
    let refused = |text: &str| (StatusCode::FORBIDDEN, Html(nyala_web::login(Some(text)))).into_response();
    if from_elsewhere(&headers) {
        return refused("This form was sent by a page of another origin.");
    }
    let token = fields.iter().find(|(name, _)| name == "token").map_or("", |(_, token)| token.trim());
    let Some(shown) = state.tokens.shown(token.as_bytes(), wall_ms() / 1000) else {
        return refused("That is no token of this management node, or one that has ended.");
    };
    let (Ok(id), Ok(more), Ok(csrf)) = (random_id(), random_id(), random_id()) else {
        return refused("The system gives no random numbers.");
    };
    give(proof.as_ref().map(|Extension(proof)| proof));
    let id = format!("{id}{more}");
    let cookie = cookie(&state, &id);
    state.sessions.lock().open(wall_ms(), shown, id, csrf.to_string());
    ([(SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}

pub(super) async fn logout(
    State(state): State<WebState>,
    visitor: Visitor,
    Form(fields): Form<Vec<(String, String)>>,
) -> Response {
    if super::act::knows(&visitor, &fields) {
        state.sessions.lock().close(&visitor.id);
    }
    Redirect::to("/login").into_response()
}
