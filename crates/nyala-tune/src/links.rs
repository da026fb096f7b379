// SPDX-License-Identifier: Apache-2.0

//! What servers know of their ways to each other and of their clocks, and in which order ways are measured.

use std::collections::{BTreeMap, BTreeSet};

/// The way of a server to an address of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The server that tried it, as in `storage s1 [ID: 3]`.
    pub from: String,
    /// The other server.
    pub to: String,
    /// Its address, IP:PORT.
    pub address: String,
    /// What it found; or why it was not reached.
    pub found: Result<LinkFigures, String>,
}

/// What a server found of its way to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFigures {
    /// The address from which it went out, IP alone.
    pub local: String,
    /// The shortest of several round trips, microseconds.
    pub round_trip_us: u64,
    /// Largest packet that its kernel sends there, bytes; 0 where it does not say.
    pub mtu: u32,
    /// Packets of full size arrive in both directions.
    pub large: bool,
    /// How fast it sent, bytes a second; absent where that was not measured.
    pub bytes_per_s: Option<u64>,
}

/// The clock of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostClock {
    /// The server that was asked, or this host.
    pub name: String,
    /// How far it is ahead of the clock of the host that asked, microseconds.
    pub ahead_us: i64,
    /// By how much that may be wrong: half of the round trip, microseconds.
    pub error_us: u64,
}

/// The host of each server, as a number from 0: servers that share an address without its port are on one host.
pub fn hosts(servers: &[Vec<String>]) -> Vec<usize> {
    let (mut known, mut hosts) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for addresses in servers {
        let new = hosts.iter().max().map_or(0, |most| most + 1);
        let host = addresses.iter().find_map(|address| known.get(address.as_str()).copied()).unwrap_or(new);
        for address in addresses {
            known.entry(address).or_insert(host);
        }
        hosts.push(host);
    }
    hosts
}

/// Rounds in which each host of so many sends to each other one once. In a round no host sends twice and none receives twice, and none does
/// both: what is measured is the way, and not what two of them leave to each other.
pub fn rounds(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    // A tournament in which one stays and the others go round; with an odd number, who meets nobody rests.
    let even = hosts + hosts % 2;
    let mut rounds = Vec::new();
    for round in 0..even.saturating_sub(1) {
        let at = |place: usize| if place == 0 { 0 } else { 1 + (round + place - 1) % (even - 1) };
        let pairs: Vec<(usize, usize)> = (0..even / 2)
            .map(|place| (at(place), at(even - 1 - place)))
            .filter(|(one, other)| *one < hosts && *other < hosts)
            .collect();
        rounds.push(pairs.clone());
        rounds.push(pairs.into_iter().map(|(one, other)| (other, one)).collect());
    }
    rounds.retain(|round| !round.is_empty());
    rounds
}

/// Names, each once, at most four; and how many more.
pub(crate) fn some<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    let shown: Vec<&str> = names.iter().copied().take(4).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Ways for tests of what judges them.
#[cfg(test)]
pub(crate) mod samples {
    use super::*;

    /// A way that is as it should be.
    pub fn good(from: &str, to: &str) -> Link {
        let figures = LinkFigures {
            local: format!("ip-{from}"),
            round_trip_us: 90,
            mtu: 9000,
            large: true,
            bytes_per_s: Some(1_000_000_000),
        };
        Link { from: from.into(), to: to.into(), address: format!("ip-{to}:8003"), found: Ok(figures) }
    }

    /// The same with something else.
    pub fn with(link: Link, change: impl FnOnce(&mut LinkFigures)) -> Link {
        let mut link = link;
        if let Ok(figures) = &mut link.found {
            change(figures);
        }
        link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_a_common_address_are_on_one_host() {
        let at = |addresses: &[&str]| addresses.iter().map(|address| (*address).to_owned()).collect::<Vec<_>>();
        let servers = [at(&["10.0.0.1"]), at(&["10.0.0.2", "10.1.0.2"]), at(&["10.1.0.2"]), at(&["10.0.0.1"]), at(&[])];
        assert_eq!(hosts(&servers), [0, 1, 1, 0, 2]);
    }

    #[test]
    fn each_pair_is_met_once_each_way_and_nobody_twice_in_a_round() {
        for hosts in 0..12 {
            let rounds = rounds(hosts);
            let mut met = BTreeSet::new();
            for round in &rounds {
                let busy: Vec<usize> = round.iter().flat_map(|(from, to)| [*from, *to]).collect();
                assert_eq!(busy.iter().collect::<BTreeSet<_>>().len(), busy.len(), "{hosts}: {round:?}");
                round.iter().for_each(|pair| assert!(met.insert(*pair), "{hosts}: {pair:?} twice"));
            }
            assert_eq!(met.len(), hosts * hosts.saturating_sub(1), "{hosts}");
            assert!(met.iter().all(|(from, to)| from != to && *from.max(to) < hosts));
        }
    }

    #[test]
    fn many_names_are_a_few_and_a_number() {
        assert_eq!(some(["b", "a", "b"].into_iter()), "a, b");
        assert_eq!(some(["a", "b", "c", "d", "e", "f"].into_iter()), "a, b, c, d and 2 more");
    }
}
