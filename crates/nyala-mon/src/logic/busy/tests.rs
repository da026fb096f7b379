// SPDX-License-Identifier: Apache-2.0

//! What several services say, added up.

use super::*;

fn said(covered_ms: u64, requests: &[(u64, u64, u64, u64)], bytes: &[(u64, u64, u64, u64)]) -> BusiestReply {
    let inodes = |all: &[(u64, u64, u64, u64)]| {
        let one = |&(inode, count, error, part)| BusyInode { inode: InodeId(inode), count, error, part };
        BusyInodes { inodes: all.iter().map(one).collect(), missed: 0 }
    };
    BusiestReply { covered_ms, sampled: 16, requests: inodes(requests), bytes: inodes(bytes), ..Default::default() }
}

#[test]
fn services_are_added_up_as_rates_of_what_is_certain() {
    let mut rates = BusyRates::default();
    rates.add(&said(10_000, &[(7, 300, 100, 50), (8, 90, 80, 90)], &[]));
    rates.add(&said(40_000, &[(7, 400, 0, 0)], &[(8, 8000, 0, 6000), (9, 5, 5, 0)]));
    let files = rates.files(Measure::Requests, 9);
    let shown: Vec<(u64, f64, f64)> = files.iter().map(|row| (row.inode.0, row.requests, row.changes)).collect();
    assert_eq!(shown, [(7, 30.0, 5.0), (8, 1.0, 1.0)]);
    let by_bytes = rates.files(Measure::Bytes, 9);
    assert_eq!((by_bytes.len(), by_bytes[0].read_bytes, by_bytes[0].written_bytes), (1, 50.0, 150.0));
    assert_eq!((rates.files(Measure::Requests, 1).len(), rates.directories(9)), (1, vec![]));
}

#[test]
fn what_has_just_begun_is_no_rush_and_fragments_are_one_directory() {
    let mut rates = BusyRates::default();
    rates.add(&said(1, &[(7, 16, 0, 0)], &[]));
    assert_eq!(rates.files(Measure::Requests, 1)[0].requests, 16.0);
    rates.add(&said(3000, &[(7, 1, 0, 0)], &[]));
    let said = serde_json::to_string(&rates.files(Measure::Requests, 1)[0]).unwrap();
    assert!(said.contains(r#""inode":"0000-000000000007","path":null,"requests":16.3,"#), "{said}");
    let row = |inode, path: Option<&str>, requests| BusyRow {
        inode: InodeId(inode),
        path: path.map(str::to_owned),
        requests,
        ..BusyRow::default()
    };
    let rows = vec![
        row(1, Some("/a"), 5.0),
        row(2, None, 4.0),
        row(3, Some("/b"), 3.0),
        row(4, Some("/b"), 3.0),
        row(5, None, 1.0),
    ];
    let joined: Vec<f64> = join_paths(rows, Measure::Requests).iter().map(|row| row.requests).collect();
    assert_eq!(joined, [6.0, 5.0, 4.0, 1.0]);
}
