// SPDX-License-Identifier: Apache-2.0

//! Sizes of packets: the same at both ends of a way, and carried by what is between them.

use crate::finding::{Finding, Level};
use crate::links::{Link, LinkFigures, some};
use std::collections::{BTreeMap, BTreeSet};

/// Ways on which packets of full size get lost, and small ones do not.
pub fn lost(links: &[Link]) -> Vec<Finding> {
    let mut lost = BTreeMap::<&str, Vec<(&str, u32)>>::new();
    for (link, figures) in reached(links).filter(|(_, figures)| !figures.large) {
        lost.entry(&link.to).or_default().push((&link.from, figures.mtu));
    }
    let judge = |(to, by): (&str, Vec<(&str, u32)>)| {
        let from = some(by.iter().map(|(from, _)| *from));
        let size = by.iter().map(|(_, mtu)| *mtu).max().unwrap_or_default();
        let is = format!("packets of full size ({size} bytes) between it and {from} get lost; small ones arrive");
        let change = "set one size on the interfaces and switch ports of this network (ip link set DEV mtu SIZE), and let ICMP pass";
        let why = "something on the way takes smaller packets and does not say so: connections stall until they are made again with packets of 1,200 bytes";
        Finding::of_network(Level::Danger, to, is, change, why)
    };
    lost.into_iter().map(judge).collect()
}

/// Ways whose ends send packets of different sizes: one finding for each two sizes.
pub fn different(links: &[Link]) -> Vec<Finding> {
    let mut sizes = BTreeMap::<(&str, &str), u32>::new();
    for (link, figures) in reached(links).filter(|(_, figures)| figures.mtu > 0) {
        sizes.insert((&figures.local, host(&link.address)), figures.mtu);
    }
    type Ends<'a> = (BTreeSet<&'a str>, BTreeSet<&'a str>);
    let mut found = BTreeMap::<(u32, u32), Ends<'_>>::new();
    for ((one, other), small) in &sizes {
        if let Some(large) = sizes.get(&(*other, *one)).filter(|large| *large > small && one != other) {
            let (at_small, at_large) = found.entry((*small, *large)).or_default();
            at_small.insert(one);
            at_large.insert(other);
        }
    }
    let judge = |((small, large), (at_small, at_large)): ((u32, u32), Ends<'_>)| {
        let is = format!("packets of at most {small} bytes, but {large} at {}", some(at_large.into_iter()));
        let change = "set one size on all hosts and switch ports of this network: ip link set DEV mtu SIZE";
        let why = "TCP takes the smaller one, at the price of processor time; what a switch or tunnel between them takes is found out by loss";
        Finding::of_network(Level::Advice, &some(at_small.into_iter()), is, change, why)
    };
    found.into_iter().map(judge).collect()
}

fn reached(links: &[Link]) -> impl Iterator<Item = (&Link, &LinkFigures)> {
    links.iter().filter_map(|link| Some((link, link.found.as_ref().ok()?)))
}

/// An address without its port.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::samples::{good, with};

    fn sized(from: &str, to: &str, mtu: u32) -> Link {
        with(good(from, to), |figures| figures.mtu = mtu)
    }

    #[test]
    fn packets_that_get_lost_are_a_danger() {
        let loses = |from: &str| with(good(from, "b"), |figures| figures.large = false);
        assert_eq!(lost(&[good("a", "b"), good("b", "a")]), []);
        let found = lost(&[loses("a"), loses("c"), good("b", "a")]);
        assert_eq!((found.len(), found[0].level, found[0].subject.as_str()), (1, Level::Danger, "b"));
        assert!(found[0].is.contains("9000 bytes) between it and a, c get lost"), "{}", found[0].is);
    }

    #[test]
    fn ends_with_different_sizes_are_named_once() {
        assert_eq!(different(&[sized("a", "b", 1500), sized("b", "a", 1500)]), []);
        assert_eq!(different(&[sized("a", "b", 1500), sized("b", "c", 9000)]), [], "two networks");
        assert_eq!(different(&[sized("a", "b", 0), sized("b", "a", 9000)]), [], "not known");
        let one_small = [sized("a", "b", 9000), sized("b", "a", 1500), sized("c", "b", 9000), sized("b", "c", 1500)];
        let found = different(&one_small);
        assert_eq!((found.len(), found[0].subject.as_str(), found[0].level), (1, "ip-b", Level::Advice));
        assert_eq!(found[0].is, "packets of at most 1500 bytes, but 9000 at ip-a, ip-c");
        let one_large = [sized("a", "b", 1500), sized("b", "a", 9000), sized("c", "b", 1500), sized("b", "c", 9000)];
        assert_eq!(different(&one_large)[0].is, "packets of at most 1500 bytes, but 9000 at ip-b");
        assert_eq!(different(&one_large)[0].subject, "ip-a, ip-c");
    }

    #[test]
    fn ports_are_no_part_of_a_host() {
        assert_eq!((host("10.0.0.1:8003"), host("[fd00::1]:8003")), ("10.0.0.1", "fd00::1"));
    }
}
