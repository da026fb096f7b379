// SPDX-License-Identifier: Apache-2.0

//! Network interfaces, and the servers that are reached by them.

use crate::facts::{Interface, Node};
use crate::finding::{Finding, Level};

/// Speed from which large packets are worth their trouble, and below which a network limits before disks do, Mbit/s.
const FAST_MBIT: u64 = 10_000;
/// Largest packets of a network for storage, bytes.
const LARGE_MTU: u64 = 9000;
/// A round trip that is longer is felt in every operation on names, microseconds.
const LONG_ROUND_TRIP_US: u64 = 1000;

/// Judges them. Interfaces by which no server is reached are not those of the cluster, as far as servers are known.
pub fn check(interfaces: &[Interface], nodes: &[Node]) -> Vec<Finding> {
    let used = |interface: &&Interface| {
        nodes.is_empty() || nodes.iter().any(|node| node.interface.as_deref() == Some(interface.name.as_str()))
    };
    let mut findings: Vec<Finding> = interfaces.iter().filter(used).flat_map(interface).collect();
    findings.extend(shared_subnets(interfaces));
    findings.extend(nodes.iter().flat_map(node));
    findings
}

fn interface(own: &Interface) -> Vec<Finding> {
    let mut findings = Vec::new();
    let fast = own.speed.is_some_and(|speed| speed >= FAST_MBIT);
    if own.duplex.as_deref() == Some("half") {
        let why = "only one side sends at a time, and the rest collides: throughput breaks down under load";
        findings.push(Finding::of_network(
            Level::Danger,
            &own.name,
            "it runs half duplex".into(),
            "look at cable and switch port",
            why,
        ));
    }
    if let Some(speed) = own.speed.filter(|_| !fast) {
        let why = "a single modern disk is faster than this network";
        findings.push(Finding::of_network(
            Level::Advice,
            &own.name,
            format!("{speed} Mbit/s"),
            "use 10 Gbit/s or more",
            why,
        ));
    }
    if let Some(mtu) = own.mtu.filter(|mtu| fast && *mtu < LARGE_MTU) {
        let change = "set 9000 on all hosts and switches of this network together";
        let why = "six packets instead of one for the same bytes cost processors time; hosts of different sizes would not understand each other";
        findings.push(Finding::of_network(Level::Advice, &own.name, format!("packets of {mtu} bytes"), change, why));
    }
    findings
}

fn shared_subnets(interfaces: &[Interface]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, own) in interfaces.iter().enumerate() {
        let shares = |other: &&Interface| other.subnets.iter().any(|subnet| own.subnets.contains(subnet));
        findings.extend(interfaces[..at].iter().find(shares).map(|other| {
            let is = format!("it is in one subnet with {}", other.name);
            let why = "either answers for the other's address, so that traffic comes in where nobody expects it";
            Finding::of_network(
                Level::Advice,
                &own.name,
                is,
                "nyala tune apply --multi-homed, or a subnet for each",
                why,
            )
        }));
    }
    findings
}

fn node(own: &Node) -> Vec<Finding> {
    // Most errors name the address themselves.
    let say = |(address, why): &(String, String)| {
        if why.contains(address.as_str()) { why.clone() } else { format!("{address}: {why}") }
    };
    let failed: Vec<String> = own.failed.iter().map(say).collect();
    let shown = if failed.is_empty() { "it has no address".to_owned() } else { failed.join("; ") };
    let Some(micros) = own.round_trip_us else {
        let change = "see whether it runs, and what is between it and this host";
        return vec![Finding::of_network(
            Level::Danger,
            &own.name,
            format!("it cannot be reached: {shown}"),
            change,
            "each host talks to every server",
        )];
    };
    let mut findings = Vec::new();
    if !failed.is_empty() {
        let change = "advertise addresses that every host reaches: --interfaces of nyala setup";
        findings.push(Finding::of_network(
            Level::Advice,
            &own.name,
            format!("some of its addresses do not answer: {shown}"),
            change,
            "each connection tries them first",
        ));
    }
    if micros > LONG_ROUND_TRIP_US {
        let is = format!("a round trip takes {micros} us");
        findings.push(Finding::of_network(
            Level::Advice,
            &own.name,
            is,
            "look at the path, and at the load",
            "each operation on a name waits for at least one",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fast(name: &str) -> Interface {
        Interface {
            name: name.into(),
            mtu: Some(9000),
            speed: Some(100_000),
            duplex: Some("full".into()),
            subnets: vec![format!("{name}/24")],
        }
    }

    fn near(interface: &str) -> Node {
        Node {
            name: "storage s1 [ID: 3]".into(),
            interface: Some(interface.into()),
            round_trip_us: Some(80),
            failed: Vec::new(),
        }
    }

    #[track_caller]
    fn found(findings: &[Finding], level: Level, word: &str) {
        assert!(findings.len() == 1 && findings[0].level == level && findings[0].is.contains(word), "{findings:#?}");
    }

    #[test]
    fn interfaces() {
        assert_eq!(check(&[fast("a"), fast("b")], &[near("a")]), []);
        found(&check(&[Interface { mtu: Some(1500), ..fast("a") }], &[near("a")]), Level::Advice, "1500");
        found(
            &check(&[Interface { speed: Some(1000), mtu: Some(1500), ..fast("a") }], &[]),
            Level::Advice,
            "1000 Mbit/s",
        );
        found(&check(&[Interface { duplex: Some("half".into()), ..fast("a") }], &[]), Level::Danger, "half");
        let slow = Interface { speed: Some(1000), ..fast("b") };
        assert_eq!(check(&[fast("a"), slow.clone()], &[near("a")]), [], "no server is behind it");
        assert_eq!(check(&[Interface { speed: None, mtu: None, duplex: None, ..slow }], &[]), [], "not known");
        let beside = Interface { subnets: vec!["a/24".into()], ..fast("b") };
        found(&check(&[fast("a"), beside], &[]), Level::Advice, "one subnet with a");
    }

    #[test]
    fn servers() {
        let failed = vec![("10.0.0.1:8003".to_owned(), "refused".to_owned())];
        found(
            &check(&[], &[Node { round_trip_us: None, failed: failed.clone(), ..near("a") }]),
            Level::Danger,
            "10.0.0.1:8003: refused",
        );
        found(&check(&[], &[Node { round_trip_us: None, ..near("a") }]), Level::Danger, "no address");
        let named = vec![("10.0.0.1:8003".to_owned(), "10.0.0.1:8003 refuses".to_owned())];
        let once = check(&[], &[Node { round_trip_us: None, failed: named, ..near("a") }]);
        assert_eq!(once[0].is, "it cannot be reached: 10.0.0.1:8003 refuses");
        found(&check(&[], &[Node { failed, ..near("a") }]), Level::Advice, "some of its addresses");
        found(&check(&[], &[Node { round_trip_us: Some(5000), ..near("a") }]), Level::Advice, "5000 us");
    }
}
