// SPDX-License-Identifier: Apache-2.0

//! The side that sends: which requests are followed, and how long they took. Failure model: see the parent module.

use super::under::under;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Most exchanges that a tracer keeps until they are taken.
pub(super) const MOST: usize = 256;

/// Follows requests of a client.
#[derive(Debug, Default)]
pub struct Tracer {
    /// The id of the trace; 0: nothing is followed.
    trace: AtomicU64,
    exchanges: Mutex<Vec<Exchange>>,
}

/// A followed request, as the side that sent it saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The trace.
    pub trace: u64,
    /// Who was asked.
    pub address: SocketAddr,
    /// The request's id in its connection.
    pub request: u64,
    /// Its message type.
    pub message_type: u16,
    /// When it was given to the connection.
    pub began: Instant,
    /// When its reply was there.
    pub ended: Instant,
}

impl Tracer {
    /// Follows requests that begin from now on, under an id; 0: none.
    pub fn follow(&self, trace: u64) {
        self.trace.store(trace, Ordering::Relaxed);
    }

    /// The id under which a request that begins now is followed.
    pub(crate) fn id(&self) -> Option<u64> {
        under().or_else(|| Some(self.trace.load(Ordering::Relaxed)).filter(|trace| *trace != 0))
    }

    pub(crate) fn note(&self, exchange: Exchange) {
        let mut exchanges = self.exchanges.lock();
        if exchanges.len() < MOST {
            exchanges.push(exchange);
        }
    }

    /// What was followed under an id and has ended; it is forgotten.
    pub fn take(&self, trace: u64) -> Vec<Exchange> {
        self.exchanges.lock().extract_if(.., |exchange| exchange.trace == trace).collect()
    }
}
