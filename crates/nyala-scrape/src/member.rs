// SPDX-License-Identifier: Apache-2.0

//! What members of a cluster say: whether they may serve, and how much their targets take.

use nyala_metrics::catalog::member as metrics;
use nyala_metrics::{Metric, Page};
use nyala_transport::member::Member;
use nyala_wire::TargetId;
use nyala_wire::mgmt::Capacity;

/// Lease, cluster map, and the capacity of each target.
pub fn member(page: &mut Page, member: &Member, targets: &[(TargetId, Capacity)]) {
    let node = member.node();
    page.family(&metrics::LEASE).value(&[&node], member.lease_valid().into());
    page.family(&metrics::MAP).value(&[&node], member.map().version.0);
    let mut each = |metric: &Metric, value: fn(&Capacity) -> u64| {
        let mut family = page.family(metric);
        targets.iter().for_each(|(target, capacity)| family.value(&[target], value(capacity)));
    };
    each(&metrics::TOTAL, |capacity| capacity.total_bytes);
    each(&metrics::FREE, |capacity| capacity.free_bytes);
    each(&metrics::TOTAL_INODES, |capacity| capacity.total_inodes);
    each(&metrics::FREE_INODES, |capacity| capacity.free_inodes);
}
