// SPDX-License-Identifier: Apache-2.0

//! Who looks: taken from the cookie before a handler runs; who has none is sent to the way in.

use super::logic::sessions::Session;
use super::logic::{cookies, sessions::LASTS_MS};
use super::state::{WebState, give};
use crate::clock::wall_ms;
use crate::counters::count;
use crate::rest::{Access, Proof};
use axum::extract::FromRequestParts;
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};

/// Somebody who has shown a token.
pub(super) struct Visitor {
    /// The session's id.
    pub id: String,
    /// The session.
    pub session: Session,
    /// From where.
    pub host: String,
}

impl Visitor {
    /// Whether the visitor may change something.
    pub fn may_act(&self) -> bool {
        self.session.access == Access::Admin
    }
}

/// The cookie's name. Cookies do not tell ports of a host apart, so the name tells the nodes.
pub(super) fn cookie_name(state: &WebState) -> String {
    format!("nyala_session_{}", state.core.me)
}

/// The cookie of a session.
pub(super) fn cookie(state: &WebState, id: &str) -> String {
    cookies::set(&cookie_name(state), id, LASTS_MS / 1000, state.is_encrypted)
}

impl FromRequestParts<WebState> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &WebState) -> Result<Visitor, Response> {
        count(&state.core.counters.rest_requests);
        let name = cookie_name(state);
        let mut headers = parts.headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        let id = headers.find_map(|header| cookies::find(header, &name)).unwrap_or_default().to_owned();
        let session = state.sessions.lock().find(wall_ms(), &id).cloned();
        match session {
            Some(session) => {
                let proof = parts.extensions.get::<Proof>();
                give(proof);
                Ok(Visitor { id, session, host: proof.map_or_else(String::new, |proof| proof.host.to_string()) })
            }
            None => Err(Redirect::to("/login").into_response()),
        }
    }
}
