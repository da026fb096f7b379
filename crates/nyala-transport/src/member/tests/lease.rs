// SPDX-License-Identifier: Apache-2.0

//! Leases on one thread. (Beside their module, since that is also compiled with a checker's atomics.)

use crate::member::lease::Lease;
use nyala_wire::MapVersion;

#[test]
fn two_thirds_from_the_sending() {
    let lease = Lease::default();
    assert_eq!(lease.left_ms(0), 0);
    lease.renew(10_000, 10_001, 3000, MapVersion(7));
    assert_eq!(lease.until(), (12_000, MapVersion(7)));
    assert_eq!((lease.left_ms(10_000), lease.left_ms(11_999), lease.left_ms(12_000)), (2000, 1, 0));
    lease.end();
    assert_eq!(lease.left_ms(10_000), 0);
    lease.renew(20_000, 20_000, 3000, MapVersion(6));
    assert_eq!(lease.left_ms(20_000), 0, "an acknowledgement that comes too late revives nothing");
    assert_eq!(lease.until(), (0, MapVersion(7)));
}

#[test]
fn a_gap_begins_another_period_also_when_nobody_looked() {
    let lease = Lease::default();
    lease.renew(0, 1, 3000, MapVersion(1));
    lease.renew(500, 1999, 3000, MapVersion(1));
    assert_eq!(lease.period(), 1);
    lease.renew(2400, 2499, 3000, MapVersion(1));
    assert_eq!(lease.period(), 1, "good until 2500");
    lease.renew(4400, 4401, 3000, MapVersion(1));
    assert_eq!(lease.period(), 2, "it was over at 4400");
    lease.renew(6300, 9000, 3000, MapVersion(1));
    assert_eq!(lease.period(), 3, "the answer came when it was over");
}
