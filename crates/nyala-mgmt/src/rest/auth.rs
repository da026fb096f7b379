// SPDX-License-Identifier: Apache-2.0

//! Who may ask, and whether this node may answer.

use super::RestState;
use super::connections::Proof;
use super::error::ApiError;
use super::token::Access;
use crate::counters::count;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Lets through who shows a token, to look or to change things: `Authorization: Bearer …`.
pub(super) async fn require_token(
    State(state): State<RestState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    count(&state.core.counters.rest_requests);
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let token = given.and_then(|value| value.split_at_checked(7)).filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case(b"bearer ") // RFC 7235, 2.1: the scheme's case does not matter
    });
    let access = token.and_then(|(_, token)| state.tokens.access(token));
    if let (Some(_), Some(proof)) = (access, request.extensions().get::<Proof>()) {
        proof.give();
    }
    match access {
        Some(Access::View) if *request.method() != Method::GET => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this token is for looking only; the one in rest.token in the management directory changes things too",
        )),
        Some(_) => Ok(next.run(request).await),
        None => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "send the header `Authorization: Bearer TOKEN`; the token is in rest.token in the management directory",
        )),
    }
}

/// Lets through when this node leads: others may know less than was decided.
pub(super) async fn require_leader(
    State(state): State<RestState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    state.core.check_leading()?;
    Ok(next.run(request).await)
}
