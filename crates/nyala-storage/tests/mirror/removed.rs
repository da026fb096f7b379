// SPDX-License-Identifier: Apache-2.0

//! What members remember of a mirror group goes with the group, also at a member that was away when it was removed.

use crate::common::{Cluster, Storage, client};
use crate::group::{A, B, both_good, config, set_map, until, write};
use nyala_store::{Options, Store};
use nyala_transport::Request;
use nyala_wire::map::MemberState;
use nyala_wire::mgmt::ServiceStats;
use nyala_wire::{TargetId, codec, message_type};
use std::ops::{Bound, ControlFlow};

/// Rows of mirror groups in a target that nobody serves.
fn rows(cluster: &Cluster, target: TargetId) -> usize {
    let dir = config(cluster, target).targets.remove(0).dir;
    let options = Options { segment_bytes: 16 << 20, ..Options::default() };
    let (store, _) = Store::open(&dir.join("kv"), options).unwrap();
    let mut count = 0;
    let counts = &mut |_: &[u8], _: &[u8]| {
        count += 1;
        ControlFlow::Continue(())
    };
    store.scan(Bound::Included(b"M"), Bound::Excluded(b"N"), counts).unwrap();
    count
}

async fn forgotten(cluster: &Cluster, storage: &Storage) -> u64 {
    let to = cluster.connect(storage).await;
    let stats = to.call(Request::new(message_type::STATS, Vec::new())).await.unwrap();
    let stats: ServiceStats = codec::decode(&stats.body).unwrap();
    stats.counters.into_iter().find(|(name, _)| name == "mirror.rows_forgotten").map_or(0, |(_, count)| count)
}

#[test]
fn rows_of_a_removed_group_go() {
    let (cluster, a, b) = both_good();
    b.stop().unwrap();
    assert!(rows(&cluster, B) > 0, "what was written last is in question");
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::NeedsResync, None)], false);
    client(async {
        let to = cluster.connect(&a).await;
        until("A goes on alone", async || write(&cluster, &to, 1, 2).await.is_ok()).await;
        assert_eq!(forgotten(&cluster, &a).await, 0, "the group is there");
    });
    {
        let mut map = cluster.knobs.map.lock().unwrap();
        map.version.0 += 1;
        map.groups.clear();
    }
    client(async { until("A has forgotten the group", async || forgotten(&cluster, &a).await > 0).await });
    let b = cluster.storage(config(&cluster, B));
    client(async { until("B has forgotten the group", async || forgotten(&cluster, &b).await > 0).await });
    a.stop().unwrap();
    b.stop().unwrap();
    assert_eq!([A, B].map(|target| rows(&cluster, target)), [0, 0]);
}
