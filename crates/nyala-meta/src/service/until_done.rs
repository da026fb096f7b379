// SPDX-License-Identifier: Apache-2.0

//! Requests to storage that have to be done however long that takes.
//!
//! Failure model: a target may be down or slow, which holds the caller up; one that was removed from the cluster has nothing
//! left to do. A reply may be lost, and a copy be late: all copies have one number, under which storage does it once, and not after it was
//! done, so that a late cut takes nothing that was written since. This server's successor in its mirror group gives the same cut a
//! number of its own: what comes later from here is refused by storage (`docs/replication.md`, Metadata), and is not sent without a lease.

use super::peers::Peers;
use super::state::State;
use nyala_wire::DataLocation;
use nyala_wire::storage::{ChunkFileId, StorageOp};
use std::time::Duration;

/// Sends a change to storage until it is done. A target that is down holds it up; that is said once.
/// A target that was removed from the cluster has nothing left to cut.
pub async fn until_done(state: &State, location: DataLocation, file: ChunkFileId, op: StorageOp) {
    let (mut pause, mut said) = (Duration::from_millis(10), false);
    let numbered = loop {
        match state.peers.number(location) {
            Some(numbered) => break numbered,
            None => tokio::time::sleep(pause).await,
        }
    };
    loop {
        let inode = file.inode;
        let Some(map) = state.orders_by() else {
            tokio::time::sleep(pause).await;
            continue;
        };
        if Peers::is_removed(&map, location) {
            tracing::warn!(%location, %inode, "truncation without a storage target that was removed from the cluster");
            return;
        }
        let Err(error) = state.peers.change(&map, &numbered, file, op.clone()).await else { return };
        if pause > Duration::from_secs(1) && !said {
            tracing::warn!(%location, %inode, %error, "truncation waits for storage");
            said = true;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(1_500));
    }
}
