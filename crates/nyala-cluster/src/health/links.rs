// SPDX-License-Identifier: Apache-2.0

//! Ways between servers that fail: an address of a server that another one does not reach any more, and one that comes and goes. A server
//! whose own network fails is named once, and not once for each of the others.

use super::finding::{About, Finding, Severity};
use super::reported::{Reported, name};
use super::ways::{Way, failing};
use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Node};
use nyala_wire::mgmt::LinkReport;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// From so many others on, what fails is the network of the one server that they have in common.
const HUB_LINKS: usize = 3;
/// Most findings about a way each; those beyond are counted.
const MOST: usize = 16;
/// Most names and addresses in a sentence.
const NAMES: usize = 3;

pub(super) fn check(map: &ClusterMap, reports: &[Reported], all: &mut Vec<Finding>) {
    let mut ways = failing(map, reports);
    // A report has the worst: those that it leaves out may fail only if all that it has do.
    let all_fail = |report: &&Reported, links: &LinkReport| {
        ways.iter().filter(|way| way.from.id == report.by).count() == links.worst.len()
    };
    let left_out =
        |report: &Reported| report.links.as_ref().filter(|links| all_fail(&report, links)).map(|links| links.more);
    let left_out: u64 = reports.iter().filter_map(left_out).sum();
    while let Some(hub) = busiest(&ways) {
        let (of_hub, others): (Vec<_>, Vec<_>) = ways.into_iter().partition(|way| way.ends().contains(&hub));
        ways = others;
        all.extend(map.node(hub).map(|node| hub_finding(node, &of_hub)));
    }
    for way in ways.iter().take(MOST) {
        let what = if way.flaps() { flapping(way) } else { lost(way, &ways) };
        all.push(found(way.from.id, what, advice(way)));
    }
    let more = ways.len().saturating_sub(MOST) as u64 + left_out;
    if more > 0 {
        let what = format!("{more} further ways between servers fail, or did within the last minute");
        let advice = "So many at once have a cause in common: look at the switches and the servers that are named.";
        all.push(Finding { about: About::Cluster, ..found(NodeId(0), what, advice.to_owned()) });
    }
}

/// The server that has failing ways to or from the most others, if they are enough to say that it is its own network.
fn busiest(ways: &[Way<'_>]) -> Option<NodeId> {
    let mut others: BTreeMap<NodeId, BTreeSet<NodeId>> = BTreeMap::new();
    for [from, to] in ways.iter().map(Way::ends) {
        others.entry(from).or_default().insert(to);
        others.entry(to).or_default().insert(from);
    }
    let most = others.iter().max_by_key(|(node, others)| (others.len(), std::cmp::Reverse(**node)));
    most.filter(|(_, others)| others.len() >= HUB_LINKS).map(|(node, _)| *node)
}

fn hub_finding(hub: &Node, ways: &[Way<'_>]) -> Finding {
    let others: BTreeSet<&str> = ways
        .iter()
        .map(|way| if way.to.id == hub.id { &way.from.alias } else { &way.to.alias })
        .map(String::as_str)
        .collect();
    let own: BTreeSet<_> = ways.iter().filter(|way| way.to.id == hub.id).map(|way| way.state.address).collect();
    let theirs: BTreeSet<_> = ways.iter().filter(|way| way.from.id == hub.id).map(|way| way.state.address).collect();
    let fails = if ways.iter().any(Way::flaps) { "comes and goes" } else { "fails" };
    let mut what = format!("the network of {} {fails} to and from {}", name(hub), some(others));
    if !own.is_empty() {
        what += &format!("; it is not reached at {}", some(own));
    }
    if !theirs.is_empty() {
        what += &format!("; it does not reach {}", some(theirs));
    }
    let advice = format!(
        "Look at the network of host {}: its interfaces (`ip -s link` counts errors), cables, and the switch. What is sent \
         goes over other addresses or through other servers meanwhile.",
        hub.alias
    );
    found(hub.id, what, advice)
}

fn flapping(way: &Way<'_>) -> String {
    let (breaks, address) = (way.state.breaks, way.state.address);
    format!(
        "the link from {} to {} at {address} comes and goes: connections were lost {breaks} times within a minute",
        name(way.from),
        name(way.to)
    )
}

fn lost(way: &Way<'_>, all: &[Way<'_>]) -> String {
    let same = |other: &&Way<'_>| other.ends() == way.ends();
    let bad: BTreeSet<SocketAddr> = all.iter().filter(same).map(|other| other.state.address).collect();
    let good: Vec<_> = way.to.addresses.iter().filter(|address| !bad.contains(address)).collect();
    let rest = match (good.is_empty(), bad.len()) {
        (false, _) => format!("it does at {}", some(good)),
        (true, 1) => "there is no other address, and what is sent goes through other servers".to_owned(),
        (true, _) => "it does at none of its addresses, and what is sent goes through other servers".to_owned(),
    };
    let seconds = way.state.silent_ms.unwrap_or(0) / 1000;
    format!("{} has not reached {} at {} for {seconds} s; {rest}", name(way.from), name(way.to), way.state.address)
}

fn advice(way: &Way<'_>) -> String {
    let (from, to, ip) = (&way.from.alias, &way.to.alias, way.state.address.ip());
    format!(
        "Look at the network between the hosts {from} and {to} on the way to {ip}: interfaces (`ip -s link` counts errors), \
         cables, switch, packet filters; `ping -c 5 {ip}` on the host of {from} tries it, and `ping -M do -s 1472 {ip}` whether \
         large packets get through."
    )
}

fn found(node: NodeId, what: String, advice: String) -> Finding {
    Finding { severity: Severity::Degraded, about: About::Node(node), what, advice }
}

/// The first few, and how many there are besides.
fn some(all: impl IntoIterator<Item = impl ToString, IntoIter: ExactSizeIterator>) -> String {
    let all = all.into_iter();
    let more = all.len().saturating_sub(NAMES);
    let first: Vec<String> = all.take(NAMES).map(|one| one.to_string()).collect();
    let first = first.join(", ");
    if more == 0 { first } else { format!("{first} and {more} others") }
}
