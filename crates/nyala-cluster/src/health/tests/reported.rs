// SPDX-License-Identifier: Apache-2.0

//! What reports of services make of it: thresholds, and sentences that name who and where.

use super::*;
use nyala_wire::SessionId;
use nyala_wire::mgmt::{RecallReport, UnansweredRecall};

fn client(name: &str, age_ms: u64, inodes: u64) -> UnansweredRecall {
    UnansweredRecall { session: SessionId(7), client: name.to_owned(), age_ms, inodes }
}

fn of_clients(by: u32, oldest: Vec<UnansweredRecall>, more: u64) -> Reported {
    let outstanding = oldest.iter().map(|client| client.inodes).sum();
    Reported { by: NodeId(by), recalls: Some(RecallReport { oldest, more, outstanding }), links: None }
}

pub(super) fn said(map: &ClusterMap, reports: &[Reported]) -> Vec<String> {
    let all = reported(map, reports);
    assert!(
        all.iter().all(|finding| finding.severity == Severity::Degraded && finding.advice.ends_with('.')),
        "{all:#?}"
    );
    all.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn a_client_that_does_not_answer_is_named() {
    let map = map(false);
    let slow = vec![client("c1:/mnt", 12_300, 1), client("c2:/mnt", 5_000, 40), client("c3:/mnt", 4_999, 1)];
    assert_eq!(
        said(&map, &[of_clients(1, slow, 0)]),
        [
            "client c1:/mnt has not answered meta node n1 [ID: 1] for 12 s: operations of others on 1 file or directory wait for it",
            "client c2:/mnt has not answered meta node n1 [ID: 1] for 5 s: operations of others on 40 files and directories wait for it",
        ]
    );
    let finding = &reported(&map, &[of_clients(1, vec![client("c1:/mnt", 9000, 1)], 0)])[0];
    assert!(finding.advice.contains("session ends 30 s after"), "{finding:?}");
}

#[test]
fn clients_that_a_report_has_no_room_for_are_counted_if_they_may_be_late() {
    let map = map(false);
    let all_late = of_clients(1, vec![client("c1:/mnt", 6000, 1)], 90);
    assert!(said(&map, &[all_late])[1].contains("90 further clients"));
    let one_is_quick = of_clients(1, vec![client("c1:/mnt", 6000, 1), client("c2:/mnt", 10, 1)], 90);
    assert_eq!(said(&map, &[one_is_quick]).len(), 1);
    assert_eq!(said(&map, &[of_clients(99, vec![client("c1:/mnt", 6000, 1)], 0)]), [""; 0], "of a node that is gone");
}
