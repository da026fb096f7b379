// SPDX-License-Identifier: Apache-2.0

//! Raft around the cluster state: openraft with our log, state machine and network.
//!
//! **Failure model.** The process or the machine dies at any instruction: entries and votes are on disk before they are
//! acknowledged (`wait_durable`), and the state machine is rebuilt from the last snapshot and the log behind it. A failed
//! write or sync poisons the store and stops Raft; the service ends with the cause. The network loses, delays and
//! repeats messages: Raft's own business. A stored record that cannot be decoded stops the start, it is never skipped.

pub(crate) mod contacts;
pub(crate) mod log;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod peers;
pub(crate) mod record;
pub(crate) mod recovery;
pub(crate) mod rpc;

#[cfg(test)]
mod tests;

use crate::config::RaftTimes;
use nyala_cluster::{ClusterError, Command, Event};
use serde::{Deserialize, Serialize};
use std::io::Cursor;

openraft::declare_raft_types!(
    /// The types that our Raft works with.
    pub(crate) TypeConfig:
        D = Command,
        R = Outcome,
        NodeId = u64,
        Node = openraft::BasicNode,
        SnapshotData = Cursor<Vec<u8>>,
);

/// What applying an entry gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome(pub Result<Vec<Event>, ClusterError>);

pub(crate) type Raft = openraft::Raft<TypeConfig>;
pub(crate) type Entry = openraft::Entry<TypeConfig>;
pub(crate) type LogId = openraft::LogId<u64>;
pub(crate) type Vote = openraft::Vote<u64>;
pub(crate) type StoredMembership = openraft::StoredMembership<u64, openraft::BasicNode>;
pub(crate) type StorageError = openraft::StorageError<u64>;

/// Raft's own times, from the configuration.
pub(crate) fn config(times: &RaftTimes) -> Result<openraft::Config, String> {
    let config = openraft::Config {
        cluster_name: "nyala-mgmt".to_owned(),
        heartbeat_interval: times.heartbeat_ms,
        election_timeout_min: times.election_min_ms,
        election_timeout_max: times.election_max_ms,
        install_snapshot_timeout: 2000,
        snapshot_policy: openraft::SnapshotPolicy::LogsSinceLast(times.snapshot_every),
        max_in_snapshot_log_to_keep: times.snapshot_every / 5,
        // A frame's payload takes 8 MiB; one entry is far smaller than a chunk.
        snapshot_max_chunk_size: 1 << 20,
        max_payload_entries: 64,
        // Switched on when nothing that was promised before the start can be broken any more.
        enable_elect: false,
        ..openraft::Config::default()
    };
    config.validate().map_err(|e| e.to_string())
}
