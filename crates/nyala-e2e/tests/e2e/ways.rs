// SPDX-License-Identifier: Apache-2.0

//! Packets from one host to another one get lost, and nothing else: both are alive to management and to everybody else.
//!
//! Failure model: TCP needs both directions, so what goes on between the two stands still, in calls that are never answered.
//! Nobody is offline. What a mirror group or several management nodes can do without that way goes on soon; what has one server
//! and one way waits as long as the cut lasts, and goes on then. Nobody sees an error, and nothing is lost.

use crate::failures::{Work, members_are_equal};
use crate::takeover::primary;
use nyala_e2e::hosts::Plan;
use nyala_e2e::pulse::now_ms;
use nyala_e2e::{Hosts, long, serial};
use std::time::Duration;

/// How long a way is cut, and what a pause may last where there is another way.
const CUT: Duration = Duration::from_secs(9);
const LIMIT_MS: u64 = 5000;
/// What a pause may last beyond the cut where there is none: attempts to connect that had begun.
const AFTER_MS: u64 = 5000;

/// Roles of the two ends, and whether there is another way.
const WAYS: [(&str, &str, bool); 11] = [
    ("client", "primary", true),
    ("primary", "secondary", true),
    ("meta", "primary", true),
    ("client", "secondary", true),
    ("client", "leader", true),
    ("client", "meta", false),
    ("meta", "secondary", true),
    ("primary", "leader", true),
    ("secondary", "leader", true),
    ("meta", "leader", false),
    ("leader", "follower", true),
];

fn host(hosts: &Hosts, role: &str) -> String {
    let lead = primary(hosts);
    match role {
        "primary" => lead,
        "secondary" => hosts.storage_names().into_iter().find(|name| *name != lead).expect("two members"),
        "leader" => hosts.leader(),
        "follower" => {
            let leader = hosts.leader();
            hosts.mgmt_names().into_iter().find(|name| *name != leader).expect("three nodes")
        }
        other => format!("{other}1"),
    }
}

/// One way is cut for a while; a line of the table, and what was too long.
fn one_way(hosts: &mut Hosts, work: &mut Work, (from, to, other_way): (&str, &str, bool)) -> (String, Option<String>) {
    let (sender, receiver) = (host(hosts, from), host(hosts, to));
    let from_ms = now_ms();
    hosts.cut_way(&sender, &receiver);
    std::thread::sleep(CUT);
    hosts.mend_way(&sender);
    hosts.until("all is well again", Hosts::is_whole);
    work.goes_on(hosts);
    work.no_errors(hosts, &format!("{from} to {to}"));
    let (pause_ms, worst) = work.longest_since(from_ms);
    let line = format!("| {from} | {to} | {} | {pause_ms} ms ({}) |", if other_way { "yes" } else { "no" }, worst.kind);
    println!("{line}");
    let limit_ms = if other_way { LIMIT_MS } else { CUT.as_millis() as u64 + AFTER_MS };
    let late = (pause_ms > limit_ms).then(|| format!("{line}; allowed are {limit_ms} ms"));
    (line, late)
}

#[test]
fn e2e_ways_between_two_hosts_are_cut_in_one_direction() {
    let _one = serial();
    let mut hosts = Hosts::start(Plan { mgmt: 3, mirror: true, ..Plan::default() });
    let mut work = Work::start(&hosts);
    std::thread::sleep(Duration::from_secs(2));
    let (mut table, mut late) = (Vec::new(), Vec::new());
    let ways = WAYS.into_iter().take(if long() { WAYS.len() } else { 2 });
    for (from, to, other_way) in ways.flat_map(|(a, b, other)| [(a, b, other), (b, a, other)]) {
        let (line, too_long) = one_way(&mut hosts, &mut work, (from, to, other_way));
        table.push(line);
        late.extend(too_long);
    }
    println!("| from | to | another way | longest pause |\n|---|---|---|---|\n{}", table.join("\n"));
    work.finish(&hosts);
    members_are_equal(&mut hosts);
    assert!(late.is_empty(), "{late:#?}");
}
