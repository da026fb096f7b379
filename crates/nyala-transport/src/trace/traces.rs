// SPDX-License-Identifier: Apache-2.0

//! What a server keeps of followed requests. Failure model: see the parent module.

use nyala_wire::trace::{TraceReply, TracedRequest};
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Requests that a server keeps the records of.
pub const MAX_TRACES: usize = 1024;
/// Most records in a reply.
pub(super) const MOST: usize = 256;

/// The last followed requests that a server has answered.
#[derive(Debug, Default)]
pub struct Traces(pub(super) Mutex<VecDeque<(u64, TracedRequest)>>);

impl Traces {
    pub(super) fn add(&self, trace: u64, request: TracedRequest) {
        let mut kept = self.0.lock();
        if kept.len() == MAX_TRACES {
            kept.pop_front();
        }
        kept.push_back((trace, request));
    }

    /// What is kept of a trace.
    pub fn of(&self, trace: u64) -> TraceReply {
        let kept = self.0.lock();
        let requests = kept.iter().filter(|(of, _)| *of == trace).map(|(_, request)| request.clone());
        TraceReply { requests: requests.take(MOST).collect() }
    }
}
