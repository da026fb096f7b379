// SPDX-License-Identifier: Apache-2.0

//! The way between two hosts fails, and nothing else: both are alive to management and to everybody else. Each pair of roles, each
//! kind of fault: packets of one direction get lost, large packets get lost, all get lost now and then.
//!
//! Failure model: TCP needs both directions, and sends again after pauses that double, so what goes on between the two stands still in
//! calls that are never answered. Nobody is offline. All goes on soon by another way: through another server, by another member of a
//! mirror group, with smaller packets, or over a new connection. Nobody sees an error, and nothing is lost.

use crate::failures::{Work, members_are_equal};
use crate::takeover::primary;
use nyala_e2e::hosts::Plan;
use nyala_e2e::latency_probe::now_ms;
use nyala_e2e::{Hosts, alone, long};
use serde_json::Value;
use std::time::{Duration, Instant};

/// What a pause may last.
const LIMIT_MS: u64 = 5000;

/// How long a way is broken: longer than a pause may last.
fn broken() -> Duration {
    Duration::from_secs(if long() { 9 } else { 6 })
}

/// How often a mirror group may have changed in that time: once away, once back, and what a resync takes.
const MOST_EPOCHS: u64 = 8;
/// Packets of more bytes get lost, where large ones do.
const LARGE: u16 = 1300;

/// Roles of the two ends in a cluster whose files are mirrored.
const MIRRORED: [(&str, &str); 12] = [
    ("client", "metadata"),
    ("metadata", "leader"),
    ("client", "primary"),
    ("primary", "secondary"),
    ("primary", "leader"),
    ("client", "leader"),
    ("metadata", "other metadata"),
    ("metadata", "primary"),
    ("metadata", "secondary"),
    ("client", "secondary"),
    ("secondary", "leader"),
    ("leader", "follower"),
];

/// And in one whose files are not: the others do the same as there.
const PLAIN: [(&str, &str); 2] = [("client", "storage1"), ("metadata", "storage1")];

/// What happens to the way between two hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Breach {
    /// Packets from the first to the second get lost.
    Forth,
    /// Packets from the second to the first get lost.
    Back,
    /// The first may not send to the second, and notices.
    Forbidden,
    /// Large packets get lost in both directions.
    Large,
    /// All packets get lost for so long, and none for so long, milliseconds.
    Flaps(u64, u64),
}

/// All, and in the short form those that go with the pair of that number.
const BREACHES: [Breach; 7] = [
    Breach::Forth,
    Breach::Flaps(3000, 1000),
    Breach::Large,
    Breach::Back,
    Breach::Forbidden,
    Breach::Flaps(1000, 1000),
    Breach::Flaps(300, 300),
];
/// Pairs of the short form.
const SHORT: usize = 4;

fn host(hosts: &Hosts, role: &str) -> String {
    let other = |role: &str, all: Vec<String>| {
        let known = host(hosts, role);
        all.into_iter().find(|name| *name != known).expect("more than one")
    };
    match role {
        "primary" => primary(hosts),
        "secondary" => other("primary", hosts.storage_names()),
        "leader" => hosts.leader(),
        "follower" => other("leader", hosts.mgmt_names()),
        // Who has what the pauses are measured with.
        "metadata" => hosts.metadata_of(&hosts.mount().join("latency-probe")),
        "other metadata" => other("metadata", hosts.metadata_names()),
        "client" => "client1".to_owned(),
        name => name.to_owned(),
    }
}

/// The sum of all mirror groups' epochs.
fn epochs(hosts: &Hosts) -> u64 {
    let groups: Value = serde_json::from_str(&hosts.ask(&["mirror", "list"]).must()).unwrap_or_default();
    groups.as_array().into_iter().flatten().filter_map(|group| group["epoch"].as_u64()).sum()
}

/// Breaks the way for a while.
fn breach(hosts: &Hosts, [a, b]: [&str; 2], what: Breach) {
    let lose_all = || {
        hosts.lose_way(a, b, 0);
        hosts.lose_way(b, a, 0);
    };
    let began = Instant::now();
    match what {
        Breach::Forth => hosts.lose_way(a, b, 0),
        Breach::Back => hosts.lose_way(b, a, 0),
        Breach::Forbidden => hosts.cut_way(a, b),
        Breach::Large => {
            hosts.lose_way(a, b, LARGE);
            hosts.lose_way(b, a, LARGE);
        }
        Breach::Flaps(down_ms, up_ms) => {
            while began.elapsed() < broken() {
                lose_all();
                // sleeps: the way is broken for so long
                std::thread::sleep(Duration::from_millis(down_ms));
                mend(hosts, [a, b]);
                // sleeps: and whole for so long
                std::thread::sleep(Duration::from_millis(up_ms));
            }
        }
    }
    // sleeps: the way is broken for so long
    std::thread::sleep(broken().saturating_sub(began.elapsed()));
    mend(hosts, [a, b]);
}

fn mend(hosts: &Hosts, ends: [&str; 2]) {
    ends.iter().for_each(|end| hosts.mend_way(end));
}

/// A line of the table, and what was too long or too often.
fn one(
    hosts: &mut Hosts,
    work: &mut Work,
    mirror: bool,
    (from, to): (&str, &str),
    what: Breach,
) -> (String, Vec<String>) {
    let ends = [host(hosts, from), host(hosts, to)];
    let epochs = |hosts: &Hosts| if mirror { epochs(hosts) } else { 0 };
    let (from_ms, before) = (now_ms(), epochs(hosts));
    breach(hosts, [&ends[0], &ends[1]], what);
    hosts.until("all is well again", Hosts::is_whole);
    work.goes_on(hosts);
    work.no_errors(hosts, &format!("{from} and {to}, {what:?}"));
    let (pause_ms, worst) = work.longest_since(from_ms);
    let changes = epochs(hosts) - before;
    let line = format!("| {from} | {to} | {what:?} | {pause_ms} ({}) | {changes} |", worst.kind);
    println!("{line}");
    let mut wrong = Vec::new();
    if pause_ms > LIMIT_MS {
        wrong.push(format!("{line}; allowed are {LIMIT_MS} ms"));
    }
    if changes > MOST_EPOCHS {
        wrong.push(format!("{line}; allowed are {MOST_EPOCHS} changes"));
    }
    (line, wrong)
}

/// What is tried: in the short form every pair once, the first ones, with another breach each.
fn cases(pairs: &[(&'static str, &'static str)], short: usize) -> Vec<((&'static str, &'static str), Breach)> {
    if long() {
        return pairs.iter().flat_map(|pair| BREACHES.map(|breach| (*pair, breach))).collect();
    }
    pairs.iter().copied().zip(BREACHES).take(short).collect()
}

fn run(plan: Plan, cases: &[((&str, &str), Breach)]) {
    let mut hosts = Hosts::start(plan);
    hosts.send_one_by_one();
    let mut work = Work::start(&hosts);
    // sleeps: the load is under way
    std::thread::sleep(Duration::from_secs(2));
    let (mut table, mut wrong) = (Vec::new(), Vec::new());
    for (pair, what) in cases {
        let (line, found) = one(&mut hosts, &mut work, plan.mirror, *pair, *what);
        table.push(line);
        wrong.extend(found);
    }
    println!(
        "| one | other | packets lost | longest pause, ms | changes of the group |\n|---|---|---|---|---|\n{}",
        table.join("\n")
    );
    work.finish(&hosts);
    if plan.mirror {
        members_are_equal(&mut hosts);
    }
    hosts.assert_fsck_clean();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn e2e_ways_between_two_hosts_break_with_mirrors() {
    let _one = alone();
    run(Plan { mgmt: 3, meta: 2, mirror: true, ..Plan::default() }, &cases(&MIRRORED, SHORT));
}

#[test]
fn e2e_ways_between_two_hosts_break_without_mirrors() {
    let _one = alone();
    // Files lie on both storage servers.
    run(Plan { mgmt: 3, stripes: 2, ..Plan::default() }, &cases(&PLAIN, 1));
}
