// SPDX-License-Identifier: Apache-2.0

//! Ways between servers: reached or not, sizes of packets, speed.

mod sizes;
mod speeds;

use crate::facts::Node;
use crate::finding::{Finding, Level};
use crate::links::{Link, some};
use std::collections::BTreeMap;

/// Judges them. A server that this host does not reach, and no other one either, is a finding about itself already.
pub fn check(links: &[Link], nodes: &[Node]) -> Vec<Finding> {
    let mut findings = reach(links, nodes);
    findings.extend(sizes::lost(links));
    findings.extend(sizes::different(links));
    findings.extend(speeds::slow(links));
    findings.sort_by_key(|finding| finding.level);
    findings
}

/// Addresses that some server does not reach.
fn reach(links: &[Link], nodes: &[Node]) -> Vec<Finding> {
    let reached = |from: Option<&str>, to: &str| {
        links.iter().any(|link| link.to == to && from.is_none_or(|from| link.from == from) && link.found.is_ok())
    };
    let known =
        |to: &str| nodes.iter().any(|node| node.name == to && node.round_trip_us.is_none()) && !reached(None, to);
    let mut failed = BTreeMap::<(&str, &str), Vec<(&str, &str)>>::new();
    for link in links {
        if let Err(why) = &link.found
            && !known(&link.to)
        {
            failed.entry((&link.to, &link.address)).or_default().push((&link.from, why));
        }
    }
    let judge = |((to, address), by): ((&str, &str), Vec<(&str, &str)>)| {
        let alone = by.iter().any(|(from, _)| !reached(Some(from), to));
        let who = some(by.iter().map(|(from, _)| *from));
        let why = by.first().map_or("", |(_, why)| why);
        let is = format!("not reached at {address} from {who}: {why}");
        let (level, change, matters) = match alone {
            true => (
                Level::Danger,
                "see what is between the hosts: interface (ip link), cable, switch, routes, packet filter",
                "each server talks to every other one: what is between these two goes through a third one, or waits",
            ),
            false => (
                Level::Advice,
                "mend that network, or advertise addresses that every host reaches: --interfaces of nyala setup",
                "connections try it first and wait, and when the other address is lost, nothing is left",
            ),
        };
        Finding::of_network(level, to, is, change, matters)
    };
    failed.into_iter().map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::samples::good;

    fn bad(from: &str, to: &str, address: &str) -> Link {
        Link { address: address.into(), found: Err("it refuses".into()), ..good(from, to) }
    }

    fn away(name: &str) -> Node {
        Node { name: name.into(), interface: None, round_trip_us: None, failed: Vec::new() }
    }

    #[test]
    fn what_is_not_reached_is_said_once_for_each_address() {
        let danger = [("b", Level::Danger, "not reached at x:1 from a: it refuses")];
        let advice = [("b", Level::Advice, "not reached at x:1 from a, c")];
        type Case<'a> = (&'a str, Vec<Link>, Vec<Node>, &'a [(&'a str, Level, &'a str)]);
        let table: [Case<'_>; 6] = [
            ("nothing", vec![], vec![], &[]),
            ("all is well", vec![good("a", "b"), good("b", "a")], vec![], &[]),
            ("one does not reach another", vec![bad("a", "b", "x:1"), good("b", "a"), good("c", "b")], vec![], &danger),
            (
                "one of two addresses, for two servers",
                vec![good("a", "b"), bad("a", "b", "x:1"), good("c", "b"), bad("c", "b", "x:1")],
                vec![],
                &advice,
            ),
            ("it does not run, which is said already", vec![bad("a", "b", "x:1")], vec![away("b")], &[]),
            (
                "this host does not reach it, another one does",
                vec![bad("a", "b", "x:1"), good("c", "b")],
                vec![away("b")],
                &danger,
            ),
        ];
        for (what, links, nodes, wanted) in table {
            let found = check(&links, &nodes);
            let shown: Vec<_> = found.iter().map(|finding| (finding.subject.as_str(), finding.level)).collect();
            assert_eq!(shown, wanted.iter().map(|(name, level, _)| (*name, *level)).collect::<Vec<_>>(), "{what}");
            for (finding, (_, _, word)) in found.iter().zip(wanted) {
                assert!(finding.is.contains(word), "{what}: {}", finding.is);
            }
        }
    }
}
