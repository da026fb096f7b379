// SPDX-License-Identifier: Apache-2.0

//! When memory is short.

use super::super::memory_left::Memory;
use super::super::tests::map;
use super::*;
use nyala_wire::NodeId;
use nyala_wire::mgmt::ServiceStats;

const MIB: u64 = 1 << 20;

fn said(total: u64, available: u64, resident: u64, limit: Option<u64>) -> Vec<String> {
    let of = |name: &str, value: u64| (format!("memory.{name}_bytes"), value * MIB);
    let mut counters = vec![of("total", total), of("available", available)];
    counters.extend(limit.map(|limit| of("limit", limit)));
    let stats = ServiceStats { resident_bytes: resident * MIB, counters, ..ServiceStats::default() };
    let probe = Probe { node: NodeId(2), memory: Memory::among(&stats), ..Probe::default() };
    let mut all = Vec::new();
    check(&map(false), &[probe], &mut all);
    assert!(all.iter().all(|f| f.about == About::Node(NodeId(2)) && f.advice.contains("10.0.0.1")), "{all:?}");
    all.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn a_host_is_short_at_a_part_of_its_memory_and_a_large_one_at_half_a_gibibyte() {
    assert_eq!((said(10_000, 300, 100, None), said(1 << 20, 512, 100, None)), (vec![], vec![]));
    assert_eq!(
        said(10_000, 299, 100, None),
        ["the host of storage node n2 [ID: 2] is short of memory: 299 of 10000 MiB are left"]
    );
    assert_eq!(said(1 << 20, 511, 100, None).len(), 1);
}

#[test]
fn a_service_is_short_near_the_limit_of_its_control_group() {
    assert_eq!(said(10_000, 5_000, 890, Some(1_000)), [""; 0]);
    assert_eq!(
        said(10_000, 5_000, 901, Some(1_000)),
        ["storage node n2 [ID: 2] is short of memory: it takes 901 of the 1000 MiB that its control group has"]
    );
}

#[test]
fn what_a_service_does_not_say_is_not_judged() {
    let stats = ServiceStats { resident_bytes: u64::MAX, ..ServiceStats::default() };
    let mut all = Vec::new();
    check(&map(false), &[Probe { node: NodeId(2), memory: Memory::among(&stats), ..Probe::default() }], &mut all);
    assert_eq!(all, []);
}
