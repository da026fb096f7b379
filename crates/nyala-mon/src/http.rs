// SPDX-License-Identifier: Apache-2.0

//! Requests over HTTP, without encryption: to databases and to mounts.
//!
//! **Failure model.** The other side may refuse, hang at any step, send a header without end, a body without end, or something that is
//! not HTTP. Each request has a connection of its own, a longest time, and a longest reply; what went wrong is said.

use crate::url::Url;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use std::pin::Pin;
use std::time::Duration;
use tokio::net::TcpStream;

/// Longest time for a connection to be made.
const CONNECT: Duration = Duration::from_secs(3);

/// A request.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// GET or POST.
    pub method: Method,
    /// What comes after the address: `/write?db=x`.
    pub path: &'a str,
    /// Value of the header Authorization.
    pub authorization: Option<&'a str>,
    /// What is sent, and what that is.
    pub body: String,
    /// See above.
    pub content_type: &'static str,
    /// Longest reply, bytes.
    pub longest: usize,
    /// Longest time.
    pub within: Duration,
}

/// Text, as databases and pages of metrics have it.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// Asks: the status and the body.
pub async fn ask(url: &Url, ask: Ask<'_>) -> Result<(u16, String), String> {
    let within = ask.within;
    let asked = tokio::time::timeout(within, exchange(url, ask)).await;
    asked.unwrap_or_else(|_| Err(format!("no reply within {within:?}")))
}

async fn exchange(url: &Url, ask: Ask<'_>) -> Result<(u16, String), String> {
    let stream = tokio::time::timeout(CONNECT, TcpStream::connect(&url.address)).await;
    let stream = stream.map_err(|_| format!("{} does not answer", url.address))?.map_err(text)?;
    let mut builder = http1::Builder::new();
    builder.max_buf_size(64 << 10);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(text)?;
    let mut request = Request::builder().method(ask.method).uri(format!("{}{}", url.path, ask.path));
    request = request.header(HOST, &url.authority).header(CONTENT_TYPE, ask.content_type);
    if let Some(authorization) = ask.authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    let request = request.body(ask.body).map_err(text)?;
    let talk = async {
        let reply = sender.send_request(request).await.map_err(text)?;
        let status = reply.status().as_u16();
        Ok((status, body(reply.into_body(), ask.longest).await?))
    };
    let mut connection = std::pin::pin!(connection);
    let mut talk = std::pin::pin!(talk);
    tokio::select! {
        biased;
        answered = &mut talk => answered,
        ended = &mut connection => match ended {
            Err(error) => Err(text(error)),
            // What was read before the end may still be taken.
            Ok(()) => talk.await,
        },
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

async fn body(mut body: Incoming, longest: usize) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(text)?.into_data() else { continue };
        if bytes.len() + data.len() > longest {
            return Err(format!("the reply is longer than {longest} bytes"));
        }
        bytes.extend(data);
    }
    String::from_utf8(bytes).map_err(|_| "the reply is no text".to_owned())
}
