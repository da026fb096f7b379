// SPDX-License-Identifier: Apache-2.0

//! Waiting for resyncs, with how far they are. A service that does not answer for a moment says nothing of what is left, and is waited for.

use super::mirror_resync_figures::{Progress, ask};
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::progress::{self, Counted};
use nyala_wire::GroupId;
use nyala_wire::map::MemberState;
use std::cell::Cell;
use std::time::Duration;

/// Between two looks at how far a resync is.
const LOOK: Duration = Duration::from_millis(500);

/// Waits until all members of these groups are good that resync can make so.
pub async fn until_good(cluster: &Cluster, of: &[GroupId]) -> Result<(), Failure> {
    let far = Cell::new((0, None));
    progress::during("resync", Counted::Bytes, || far.get(), wait(cluster, of, &far)).await
}

/// Waits for the members that resync can make good; how far they are is said in `far`.
async fn wait(cluster: &Cluster, of: &[GroupId], far: &Cell<(u64, Option<u64>)>) -> Result<(), Failure> {
    loop {
        let mut rows = ask(cluster, &cluster.map().await?, of, false).await?;
        rows.retain(|row| !row.stopped && row.state != MemberState::Bad);
        if rows.is_empty() {
            return Ok(());
        }
        far.set(copied(&rows));
        tokio::time::sleep(LOOK).await;
    }
}

/// Bytes that were copied, and how many there are, where all primaries say what is left.
fn copied(rows: &[Progress]) -> (u64, Option<u64>) {
    let done = rows.iter().filter_map(|row| row.copied_bytes).sum();
    let left: Option<u64> = rows.iter().map(|row| row.left_bytes).sum();
    (done, left.map(|left| done + left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::TargetId;

    #[test]
    fn what_is_left_is_known_if_all_say_it() {
        let row = Progress {
            group: GroupId(1),
            target: TargetId(201),
            state: MemberState::Resyncing,
            stopped: false,
            copied_bytes: Some(1 << 20),
            left_bytes: Some(3 << 20),
            bytes_per_s: None,
            left_s: None,
            taken_bytes: None,
        };
        assert_eq!(copied(std::slice::from_ref(&row)), (1 << 20, Some(4 << 20)));
        let silent = Progress { left_bytes: None, ..row.clone() };
        assert_eq!(copied(&[row.clone(), silent]), (2 << 20, None), "one does not say");
    }
}
