// SPDX-License-Identifier: Apache-2.0

//! Operations by number and name, as requests are counted: those of clients, and messages that are none.

use nyala_namespace::server::op_names::OP_NAMES;
use nyala_wire::message_type::{
    BUSIEST, META_CHECKPOINT, META_FENCES, META_LOCATE, META_NAMES, META_REPLICA, META_SCAN, META_TX, METRICS, PING,
    STATS,
};

/// What is not an operation of a client, behind those.
const OTHERS: [&str; 12] = [
    "transaction",
    "fences",
    "replica",
    "scan",
    "checkpoint",
    "locate",
    "names",
    "busiest",
    "ping",
    "stats",
    "metrics",
    "unknown",
];

/// All names, by number.
pub fn names() -> Vec<&'static str> {
    OP_NAMES.iter().copied().chain(OTHERS).collect()
}

/// The number of a message that is not an operation of a client; that of one is known when it is decoded.
pub fn op_of(message_type: u16) -> usize {
    let known = [
        META_TX,
        META_FENCES,
        META_REPLICA,
        META_SCAN,
        META_CHECKPOINT,
        META_LOCATE,
        META_NAMES,
        BUSIEST,
        PING,
        STATS,
        METRICS,
    ];
    OP_NAMES.len() + known.iter().position(|known| *known == message_type).unwrap_or(known.len())
}

/// The name of a number that [`op_of`] gave, or that an operation has.
pub fn op_name(op: usize) -> &'static str {
    OP_NAMES.get(op).or_else(|| OTHERS.get(op - OP_NAMES.len())).copied().unwrap_or_default()
}
