// SPDX-License-Identifier: Apache-2.0

//! Errors of the REST API: a status, and `{code, message}`.

use crate::core::Refusal;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use nyala_cluster::ClusterError;
use nyala_wire::error::WireError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

/// What the body of every error is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    /// For programs: `unauthorized`, `invalid`, `not_found`, `conflict`, `not_ready`, `no_such_path`, …
    code: String,
    /// A sentence for people that says what to do.
    message: String,
}

/// An error with its status.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    body: ErrorBody,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &str, message: impl Into<String>) -> ApiError {
        ApiError { status, body: ErrorBody { code: code.to_owned(), message: message.into() } }
    }

    pub(super) fn invalid(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::CONFLICT, "conflict", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self.body)).into_response()
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let message = refusal.to_string();
        let (status, code) = match &refusal {
            Refusal::NotReady(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
            Refusal::NotLeader { .. } => (StatusCode::SERVICE_UNAVAILABLE, "not_leader"),
            Refusal::Cluster(error) => match error {
                ClusterError::NoNode { .. }
                | ClusterError::NoTarget { .. }
                | ClusterError::NoPool { .. }
                | ClusterError::NoGroup { .. } => (StatusCode::NOT_FOUND, "not_found"),
                ClusterError::BadAlias { .. } | ClusterError::Invalid { .. } => (StatusCode::BAD_REQUEST, "invalid"),
                ClusterError::NotInitialised => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
                _ => (StatusCode::CONFLICT, "conflict"),
            },
        };
        ApiError::new(status, code, message)
    }
}

impl From<WireError> for ApiError {
    fn from(error: WireError) -> ApiError {
        ApiError::invalid(error.message)
    }
}

/// A request's body. (axum's own extractor answers errors in plain text.)
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|e| ApiError::invalid(format!("the body is not what is expected: {e}")))
}

/// A number in the path.
pub(super) fn parse_id<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, ApiError> {
    text.parse().map_err(|_| ApiError::invalid(format!("{text:?} is not the id of a {what}; ids are numbers")))
}

pub(super) async fn no_such_path() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "no_such_path", "there is nothing here; see /api/v1/openapi.json")
}

pub(super) async fn no_such_method() -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "no_such_method",
        "see /api/v1/openapi.json for what is possible here",
    )
}
