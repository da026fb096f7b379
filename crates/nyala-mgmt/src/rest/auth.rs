// SPDX-License-Identifier: Apache-2.0

//! Who may ask, and whether this node may answer.

use super::access::{Access, Shown};
use super::error::ApiError;
use super::proof::Proof;
use super::state::{MAX_BODY, RestState};
use crate::audit;
use crate::clock::wall_ms;
use crate::counters::count;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Lets through who shows a token, to look or to change things: `Authorization: Bearer …`.
pub(super) async fn require_token(
    State(state): State<RestState>,
    mut request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    count(&state.core.counters.rest_requests);
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let token = given.and_then(|value| value.split_at_checked(7)).filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case(b"bearer ") // RFC 7235, 2.1: the scheme's case does not matter
    });
    let shown = token.and_then(|(_, token)| state.tokens.shown(token, wall_ms() / 1000));
    if let (Some(_), Some(proof)) = (&shown, request.extensions().get::<Proof>()) {
        proof.give();
    }
    match shown {
        Some(Shown { access: Access::View, .. }) if *request.method() != Method::GET => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this token is for looking only; the one in rest.token in the management directory changes things too",
        )),
        Some(shown) => {
            request.extensions_mut().insert(shown);
            Ok(next.run(request).await)
        }
        None => Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "send the header `Authorization: Bearer TOKEN`; the token is in rest.token in the management directory",
        )),
    }
}

/// Writes down what changes something, before it is done, and what came of it.
pub(super) async fn write_down(
    State(state): State<RestState>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if *request.method() == Method::GET {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await;
    let body = body.map_err(|_| ApiError::invalid("the body of the request is too long, or was cut off"))?;
    let what = format!("{} {} {}", parts.method, parts.uri.path(), String::from_utf8_lossy(&body));
    let host = parts.extensions.get::<Proof>().map_or_else(String::new, |proof| proof.host.to_string());
    let who = parts.extensions.get::<Shown>().map_or_else(String::new, |shown| shown.name.clone());
    let number = audit::begin(&state.core, (who, host, what.trim_end().to_owned())).await?;
    let response = next.run(Request::from_parts(parts, body.into())).await;
    let outcome = match response.status() {
        status if status.is_success() => "done".to_owned(),
        status => format!("refused: {status}"),
    };
    audit::end(&state.core, number, outcome).await;
    Ok(response)
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
