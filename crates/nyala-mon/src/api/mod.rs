// SPDX-License-Identifier: Apache-2.0

//! Queries over HTTP, answered in JSON: `GET /api/v1/…`, with the token.
//!
//! **Failure model.** Anybody who reaches the port may connect, send half a header, read nothing, and do so a thousand times: connections
//! share a fixed number of places and give way to others ([`nyala_transport::admission`]); a header and a connection have a longest time, a
//! header a largest size, and a body is not read. Whoever has the token may ask for much: answers are bounded in series and points.

mod answer;
mod params;

use crate::state::Shared;
use answer::{Status, answer};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nyala_transport::Admission;
use nyala_transport::admission::Permit;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Connections at once.
const MOST: usize = 32;
/// Longest time for a header.
const HEADER: Duration = Duration::from_secs(5);
/// Longest time for a connection, which is for one request.
const CONNECTION: Duration = Duration::from_secs(20);
/// Longest header, bytes.
const HEADER_BYTES: usize = 16 << 10;

/// For ever. In a `LocalSet`.
pub async fn serve(listener: TcpListener, shared: Rc<Shared>) -> Infallible {
    let admission = Admission::new(MOST);
    loop {
        admission.wait_room().await;
        match listener.accept().await {
            Ok((stream, from)) => {
                tokio::task::spawn_local(serve_one(stream, admission.admit(from.ip()), shared.clone()));
            }
            Err(error) => tokio::time::sleep(admission.accept_failed(&error)).await,
        }
    }
}

async fn serve_one(stream: TcpStream, mut permit: Permit, shared: Rc<Shared>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = respond(&request, &shared);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER).max_buf_size(HEADER_BYTES).keep_alive(false);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    // What goes wrong with a stranger's connection concerns nobody else.
    tokio::select! {
        _ = connection => {}
        () = permit.shed() => {}
        () = tokio::time::sleep(CONNECTION) => {}
    }
}

fn respond(request: &Request<Incoming>, shared: &Shared) -> Response<String> {
    shared.counters.borrow_mut().queries += 1;
    let given = request.headers().get(AUTHORIZATION).map(|value| value.as_bytes());
    let token = given.and_then(|value| value.split_at_checked(7));
    // RFC 7235, 2.1: the scheme's case does not matter.
    let proven = token.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case(b"bearer ") && shared.is_token(token));
    let (status, body) = if !proven {
        let message =
            "send the header `Authorization: Bearer TOKEN`; the token is in mon.token in the service's directory";
        (Status::Unauthorized, serde_json::json!({"code": "unauthorized", "message": message}))
    } else if request.method() != Method::GET {
        (Status::Method, serde_json::json!({"code": "method", "message": "only GET"}))
    } else {
        answer(request.uri().path(), request.uri().query().unwrap_or_default(), shared)
    };
    let mut response = Response::new(format!("{body}\n"));
    *response.status_mut() = match status {
        Status::Ok => StatusCode::OK,
        Status::Bad => StatusCode::BAD_REQUEST,
        Status::Unauthorized => StatusCode::UNAUTHORIZED,
        Status::Missing => StatusCode::NOT_FOUND,
        Status::Method => StatusCode::METHOD_NOT_ALLOWED,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
