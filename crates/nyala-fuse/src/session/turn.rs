// SPDX-License-Identifier: Apache-2.0

//! Turns of a thread: it takes up what is there, one request after the other, until it has to wait. Failure model: see the parent module.

use crate::dispatch::Server;
use crate::handler::Handler;
use crate::transport::{Channel, Request};
use std::future::poll_fn;
use std::pin::pin;

/// The next request. If it has to be waited for, the thread's turn is over: what comes then waited behind nobody.
pub(super) async fn next<H: Handler, C: Channel>(server: &Server<H, C>) -> std::io::Result<Option<Request>> {
    let mut next = pin!(server.channel.next());
    poll_fn(|context| {
        let polled = next.as_mut().poll(context);
        if polled.is_pending() {
            server.turn.set(None);
        }
        polled
    })
    .await
}
