// SPDX-License-Identifier: Apache-2.0

//! Free TCP ports for a cluster, or for another service of a test.
//!
//! Failure model: another process may take a port between our look and the cluster's bind. Then `up` fails, loudly; the
//! range lies below the kernel's ephemeral ports, so that only another service can do it, not a passing connection.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many ports in a row a cluster may use.
pub const PORTS_PER_CLUSTER: u16 = 40;
const FIRST: u32 = 11_000;
const BLOCKS: u32 = 500;

/// An address of this machine with a port that nobody has now, and that no other call gives.
pub fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], base()))
}

/// The first of [`PORTS_PER_CLUSTER`] ports in a row that are free now; each call gives others.
pub fn base() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    for _ in 0..BLOCKS {
        let block = (std::process::id() * 7 + CALLS.fetch_add(1, Ordering::Relaxed)) % BLOCKS;
        let base = (FIRST + block * u32::from(PORTS_PER_CLUSTER)) as u16;
        if (base..base + PORTS_PER_CLUSTER).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return base;
        }
    }
    panic!("no {PORTS_PER_CLUSTER} free ports in a row from {FIRST}");
}
