// SPDX-License-Identifier: Apache-2.0

//! A member that may lack anything gets everything, not only what changed while it was away.

use crate::common::client;
use crate::group::{A, B, both_good, config, set_map, state_of, until};
use nyala_storage::compare;
use nyala_wire::map::MemberState;
use std::time::Duration;

#[test]
fn an_empty_member_gets_everything() {
    let (cluster, a, b) = both_good();
    // What was written is agreed on: nobody's rows say that it may differ.
    // sleeps: so long rows say of what was written that it may differ
    std::thread::sleep(Duration::from_millis(4500));
    b.stop().unwrap();
    let fresh = config(&cluster, B);
    for dir in [&fresh.dir, &fresh.targets[0].dir] {
        std::fs::remove_dir_all(dir).unwrap();
    }
    let b = cluster.storage(fresh.clone());
    set_map(&cluster, &[(A, MemberState::Good, Some(&a)), (B, MemberState::NeedsResync, Some(&b))], false);
    {
        let mut map = cluster.knobs.map.lock().unwrap();
        map.groups[0].full = vec![B];
        map.version.0 += 1;
        (map.groups[0].epoch, map.groups[0].since) = (map.groups[0].epoch + 1, map.version);
    }
    let good = async || state_of(&cluster, B) == Some(MemberState::Good);
    client(async { until("B has everything", good).await });
    a.stop().unwrap();
    b.stop().unwrap();
    let [of_a, of_b] = [config(&cluster, A), fresh].map(|config| config.targets[0].dir.clone());
    let found = compare(&of_a, &of_b).unwrap();
    assert!(found.is_equal() && found.bytes >= 4096, "{found:?}");
}
