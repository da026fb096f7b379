// SPDX-License-Identifier: Apache-2.0

//! A mirror member dies, and at the same moment the management node that would decide what follows.

use crate::failures::{Work, members_are_equal};
use nyala_e2e::hosts::{Fault, Plan};
use nyala_e2e::latency_probe::now_ms;
use nyala_e2e::{Hosts, alone, long};
use serde_json::Value;
use std::time::Duration;

/// Another leader has to be elected, and waits a lease of 3 s before it takes anything from anybody.
const LIMIT_MS: u64 = 8000;

/// The storage host whose target leads the mirror group.
pub fn primary(hosts: &Hosts) -> String {
    let listed = hosts.ask(&["mirror", "list"]).must();
    let groups: Value = serde_json::from_str(&listed).unwrap_or_default();
    let target = groups[0]["members"][0]["target"].as_u64().unwrap_or_else(|| panic!("no group: {listed}"));
    format!("storage{}", target / 100)
}

/// The new leader of management makes the other member primary; nobody sees an error, and nothing is lost.
#[test]
fn e2e_leader_dies_while_a_mirror_fails_over() {
    let _one = alone();
    let mut hosts = Hosts::start(Plan { mgmt: 3, mirror: true, ..Plan::default() });
    let mut work = Work::start(&hosts);
    // sleeps: the load is under way
    std::thread::sleep(Duration::from_secs(2));
    let mut late = Vec::new();
    for round in 0..if long() { 6 } else { 2 } {
        let (storage, leader) = (primary(&hosts), hosts.leader());
        let from_ms = now_ms();
        // Either may be first: the decision under way is lost with the leader, or was never begun.
        let both = if round % 2 == 0 { [&storage, &leader] } else { [&leader, &storage] };
        both.into_iter().for_each(|name| hosts.strike(name, Fault::Killed));
        // sleeps: both are away for so long
        std::thread::sleep(Duration::from_millis(LIMIT_MS));
        both.into_iter().for_each(|name| hosts.heal(name));
        hosts.until("all is well again", Hosts::is_whole);
        work.goes_on(&hosts);
        work.no_errors(&hosts, &format!("{storage} and {leader}"));
        let (pause_ms, worst) = work.longest_since(from_ms);
        println!("{storage} and {leader}: longest pause {pause_ms} ms ({})", worst.kind);
        late.extend((pause_ms > LIMIT_MS).then_some(pause_ms));
    }
    work.finish(&hosts);
    members_are_equal(&mut hosts);
    hosts.assert_fsck_clean();
    assert!(late.is_empty(), "{late:?} ms; allowed are {LIMIT_MS}");
}
