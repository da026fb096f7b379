// SPDX-License-Identifier: Apache-2.0

//! Connections of the REST API: how many, and for how long.
//!
//! **Failure model.** Anybody who reaches the port may connect, send half a header or half a body, read nothing, and do so a
//! thousand times. Connections that have not shown the token share a fixed number of places and give way to others
//! ([`nyala_transport::admission`]); a header, a request and a connection have a longest time. The process may run out of
//! descriptors: accepting pauses, and a stranger goes.

use super::agree::agree;
use super::proof::Proof;
use super::tls::Tls;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nyala_transport::Admission;
use nyala_transport::admission::Permit;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Connections that have not shown the token.
const STRANGERS: usize = 64;
/// Connections in all. Who has shown the token may have as many as that.
const MOST: usize = 256;
/// Longest time for a header; also between two requests of a connection.
const HEADER: Duration = Duration::from_secs(5);
/// Longest time for a request with its body and its reply.
const REQUEST: Duration = Duration::from_secs(30);
/// After this time a connection ends with the request that is under way.
const CONNECTION: Duration = Duration::from_secs(60);
/// A header may be so long, bytes; the body's bound is the router's.
const HEADER_BYTES: usize = 16 << 10;

/// Serves until told to stop; then connections have as long as the caller waits.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    app: Router,
    mut stopped: oneshot::Receiver<()>,
) {
    let admission = Admission::new(STRANGERS);
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            biased;
            // A dropped sender means stop as well.
            _ = &mut stopped => break,
            accepted = accept(&listener, &admission, &mut connections) => accepted,
        };
        let Some((stream, permit)) = accepted else { continue };
        let acceptor = tls.as_ref().map(|tls| tls.acceptor(Instant::now()));
        connections.spawn(serve_one(stream, acceptor, permit, app.clone()));
    }
    drop(listener);
    connections.shutdown().await;
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    admission: &Admission,
    connections: &mut JoinSet<()>,
) -> Option<(TcpStream, Permit)> {
    admission.wait_room().await;
    if connections.len() >= MOST {
        connections.join_next().await;
        return None;
    }
    match listener.accept().await {
        Ok((stream, from)) => Some((stream, admission.admit(from.ip()))),
        Err(error) => {
            tokio::time::sleep(admission.accept_failed(&error)).await;
            None
        }
    }
}

async fn serve_one(mut stream: TcpStream, acceptor: Option<TlsAcceptor>, mut permit: Permit, app: Router) {
    let host = stream.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |from| from.ip());
    let Some(acceptor) = acceptor else { return speak(stream, host, permit, app).await };
    let agreed = tokio::select! {
        agreed = tokio::time::timeout(HEADER, agree(&mut stream, acceptor)) => agreed,
        () = permit.shed() => return,
    };
    // What goes wrong with a stranger's connection concerns nobody else.
    if let Ok(Some(encrypted)) = agreed {
        speak(encrypted, host, permit, app).await;
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin, host: IpAddr, mut permit: Permit, app: Router) {
    let (given, mut proven) = oneshot::channel();
    let proof = Proof::new(host, given);
    let app = TowerToHyperService::new(app);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(proof.clone());
        let answer = hyper::service::Service::call(&app, request);
        async move { Ok::<Response, Infallible>(in_time(answer).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER).max_buf_size(HEADER_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let end = tokio::time::sleep(CONNECTION);
    let mut end = std::pin::pin!(end);
    // What goes wrong with a stranger's connection concerns nobody else.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = permit.shed() => return,
        () = &mut end => return,
        _ = &mut proven => permit.proven(),
    }
    tokio::select! {
        _ = connection.as_mut() => return,
        () = &mut end => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(REQUEST, connection).await;
}

async fn in_time(answer: impl Future<Output = Result<Response, Infallible>>) -> Response {
    match tokio::time::timeout(REQUEST, answer).await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}
