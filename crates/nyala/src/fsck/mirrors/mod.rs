// SPDX-License-Identifier: Apache-2.0

//! Members of mirror groups, compared with their primaries while the cluster works.
//!
//! **Failure model.** Members fail, come back and change places meanwhile. Members that the map does not call good are known to lack
//! something, and are left out; one that ceases to be good, or does not answer, was not looked at to the end. Memory: what differs, up
//! to a limit.

mod chunks;
mod pairs;
mod tables;

use super::ask::Ask;
use super::progress::Progress;
use super::report::Unchecked;
use nyala_fsck::mirrors::Mirrors;
use nyala_wire::map::TargetKind;
use pairs::Pairs;

/// Compares all groups; what differs, and what could not be looked at to the end.
pub async fn compare(ask: &Ask, progress: &mut Progress) -> (Mirrors, Vec<Unchecked>) {
    let (mut mirrors, mut unchecked, map) = (Mirrors::default(), Vec::new(), ask.map());
    for group in &map.groups {
        let Some(pairs) = Pairs::of(group) else {
            tracing::info!(group = %group.id, "no two good members to compare");
            continue;
        };
        match group.kind {
            TargetKind::Meta => {
                let server = group.serves.unwrap_or(pairs.primary);
                tables::compare(ask, server, &pairs, progress, &mut mirrors.tables, &mut unchecked).await;
            }
            TargetKind::Storage => chunks::compare(ask, &pairs, progress, &mut mirrors.chunks, &mut unchecked).await,
        }
    }
    (mirrors, unchecked)
}
