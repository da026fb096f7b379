// SPDX-License-Identifier: Apache-2.0

//! Rounds of known figures.

use super::document::document;
use super::*;
use crate::report::tests::{report, row as row_of, servers};

fn round(one_us: u64, each_us: [u64; 2]) -> Round {
    let of = |us| row_of(WORKLOAD, Step::Create, Backend::Native, 1000, 0, 0.5, servers(us, 0));
    let mut two = of(each_us.iter().sum());
    two.meta_each_us = vec![("meta1".into(), each_us[0]), ("meta2".into(), each_us[1])];
    vec![(1, report(vec![of(one_us)])), (2, report(vec![two]))]
}

#[test]
fn costs_are_held_against_one_server_and_servers_against_each_other() {
    let found = compare(&[round(10_000, [6_000, 5_000]), round(10_000, [9_000, 3_000]), round(20_000, [8_000, 8_000])]);
    assert_eq!(found.operations.len(), 2);
    let two = &found.operations[1];
    assert_eq!((two.servers, two.ratio, two.least, two.most), (2, 1.1, 0.8, 1.2));
    assert!((two.us - 13.0).abs() < 1e-9 && (two.busiest - 23.0 / 19.5).abs() < 1e-9, "{two:?}");
    let aims: Vec<_> = found.aims.iter().map(|aim| (aim.ok, aim.why.is_some())).collect();
    assert_eq!((aims.len(), aims[0], aims[1]), (12, (true, false), (false, false)));
    assert!(aims[2..].iter().all(|aim| *aim == (false, true)));
    let text = document(&found).plain();
    assert!(text.contains("meta1 7.67, meta2 5.33") && text.contains("MISS"), "{text}");
}
