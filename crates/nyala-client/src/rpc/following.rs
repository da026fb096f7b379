// SPDX-License-Identifier: Apache-2.0

//! The requests of one call, followed. Failure model: see [`nyala_transport::trace`]; of a call that is dropped, nothing is kept.

use nyala_transport::Tracer;
use nyala_transport::trace::{Exchange, Under};
use std::pin::pin;

/// Forgets what ended of a call, also of one that is dropped.
struct Taken<'a>(&'a Tracer, u64);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.take(self.1);
    }
}

/// Runs a call under a trace's id; with its requests that ended, by their beginning.
pub(crate) async fn follow<T>(
    tracer: Option<&Tracer>,
    trace: u64,
    call: impl Future<Output = T>,
) -> (T, Vec<Exchange>) {
    let Some(tracer) = tracer else { return (call.await, Vec::new()) };
    let _taken = Taken(tracer, trace);
    let done = Under::new(trace, pin!(call)).await;
    let mut exchanges = tracer.take(trace);
    exchanges.sort_by_key(|exchange| exchange.began);
    (done, exchanges)
}
