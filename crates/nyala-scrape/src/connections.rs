// SPDX-License-Identifier: Apache-2.0

//! Connections of scrapers: how many, and for how long.
//!
//! **Failure model.** Anybody who reaches the port may connect, send half a header or half a body, read nothing, and do so a thousand times.
//! All connections share a fixed number of places and give way to others ([`nyala_transport::admission`]); a header and a connection have a longest
//! time, a header a largest size, and a body is not read. The process may run out of descriptors: accepting pauses, and a stranger goes.

use crate::pages::Pages;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use nyala_metrics::Page;
use nyala_transport::Admission;
use nyala_transport::admission::Permit;
use std::convert::Infallible;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Connections at once.
const MOST: usize = 16;
/// Longest time for a header.
const HEADER: Duration = Duration::from_secs(5);
/// Longest time for a connection, which is for one request: scrapers come so seldom that keeping theirs would only keep others out.
const CONNECTION: Duration = Duration::from_secs(10);
/// Longest header, bytes.
const HEADER_BYTES: usize = 8 << 10;

/// Serves until the service ends.
pub(crate) async fn serve(listener: TcpListener, pages: Pages) {
    let admission = Admission::new(MOST);
    loop {
        let accepted = async {
            admission.wait_room().await;
            listener.accept().await
        };
        let accepted = tokio::select! {
            () = pages.ended() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                tokio::task::spawn_local(serve_one(stream, admission.admit(from.ip()), pages.clone()));
            }
            Err(error) => tokio::time::sleep(admission.accept_failed(&error)).await,
        }
    }
}

async fn serve_one(stream: TcpStream, mut permit: Permit, pages: Pages) {
    let service = service_fn(move |request: Request<Incoming>| {
        let pages = pages.clone();
        async move { Ok::<_, Infallible>(reply(&request, &pages).await) }
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

async fn reply(request: &Request<Incoming>, pages: &Pages) -> Response<String> {
    let plain = |status: StatusCode, text: &str| {
        let mut response = Response::new(format!("{text}\n"));
        *response.status_mut() = status;
        response
    };
    match (request.uri().path(), request.method()) {
        ("/metrics", &Method::GET | &Method::HEAD) => {}
        ("/metrics", _) => {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET");
            response.headers_mut().insert(ALLOW, hyper::header::HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        _ => return plain(StatusCode::NOT_FOUND, "there is only /metrics"),
    }
    let Some(page) = pages.page().await else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "the service is starting, stopping or stuck");
    };
    let mut response = Response::new(page.to_string());
    let content_type = hyper::header::HeaderValue::from_static(Page::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}
