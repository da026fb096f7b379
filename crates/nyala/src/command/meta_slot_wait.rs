// SPDX-License-Identifier: Apache-2.0

//! Waiting for moves of slots, with how far they are. What management does not tell for a moment ends the wait, not the moves.

use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::progress::{self, Counted};
use std::cell::Cell;
use std::time::Duration;

/// Between looks at how far moves are.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until nothing is on its way of so many slots that were ordered.
pub async fn until_moved(cluster: &Cluster, total: u64) -> Result<(), Failure> {
    let left = Cell::new(total);
    let wait = async {
        loop {
            left.set(cluster.map().await?.moves.len() as u64);
            if left.get() == 0 {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let look = || (total.saturating_sub(left.get()), Some(total));
    progress::during("moves", Counted::Things("slots"), look, wait).await
}
