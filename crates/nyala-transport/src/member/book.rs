// SPDX-License-Identifier: Apache-2.0

//! Which management node to ask: the addresses that were configured, those that the cluster map has, and the one that
//! answered last. Pure.
//!
//! **Failure model.** The configured addresses may be out of date (a node was removed, another was added), and so may the
//! map: neither is ever dropped for the other. A hint where the leader is may be wrong: it decides who is asked first, not
//! who is asked.

use nyala_wire::map::ClusterMap;
use std::net::SocketAddr;

/// Most addresses that are taken from a map or a hint.
const MOST: usize = 64;

/// The addresses. Wants no lock of its own: whoever shares it brings one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MgmtBook {
    configured: Vec<SocketAddr>,
    learned: Vec<SocketAddr>,
    preferred: Option<SocketAddr>,
}

impl MgmtBook {
    /// With what was configured.
    pub fn new(configured: Vec<SocketAddr>) -> MgmtBook {
        MgmtBook { configured, ..MgmtBook::default() }
    }

    /// Takes the addresses of the management nodes from a map; a map without any changes nothing.
    pub fn learn(&mut self, map: &ClusterMap) {
        let found: Vec<_> = map.mgmt_addresses().take(MOST).collect();
        if !found.is_empty() {
            self.learned = found;
        }
    }

    /// This one answered.
    pub fn answered(&mut self, address: SocketAddr) {
        self.preferred = Some(address);
    }

    /// This one did not: others come first next time.
    pub fn failed(&mut self, address: SocketAddr) {
        if self.preferred.is_none_or(|preferred| preferred == address) {
            let all = self.all();
            let at = all.iter().position(|other| *other == address).map_or(0, |at| at + 1);
            self.preferred = all.get(at % all.len().max(1)).copied();
        }
    }

    /// The order in which to ask, each address once.
    pub fn order(&self) -> Vec<SocketAddr> {
        let all = self.all();
        let first = self.preferred.and_then(|preferred| all.iter().position(|address| *address == preferred));
        match (first, self.preferred) {
            (Some(at), _) => all[at..].iter().chain(&all[..at]).copied().collect(),
            // Only a hint names it.
            (None, Some(preferred)) => std::iter::once(preferred).chain(all).collect(),
            (None, None) => all,
        }
    }

    /// Learned ones first: they are newer.
    fn all(&self) -> Vec<SocketAddr> {
        let mut all: Vec<SocketAddr> = Vec::new();
        for address in self.learned.iter().chain(&self.configured) {
            if !all.contains(address) {
                all.push(*address);
            }
        }
        all
    }
}

/// The first usable address of a hint where the leader is.
pub fn hinted(addresses: &[String]) -> Option<SocketAddr> {
    addresses.iter().take(MOST).find_map(|text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::NodeId;
    use nyala_wire::map::{Node, Reachability, Role};

    fn at(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn ports(book: &MgmtBook) -> Vec<u16> {
        book.order().iter().map(SocketAddr::port).collect()
    }

    #[test]
    fn who_answered_comes_first_and_nobody_is_forgotten() {
        let mut book = MgmtBook::new(vec![at(1), at(2)]);
        assert_eq!(ports(&book), [1, 2]);
        let node = |port| Node {
            id: NodeId(u32::from(port)),
            alias: format!("mgmt{port}"),
            role: Role::Mgmt,
            addresses: vec![at(port)],
            reachability: Reachability::Online,
        };
        let meta = Node { role: Role::Meta, ..node(9) };
        book.learn(&ClusterMap { nodes: vec![node(2), node(3), node(4), meta], ..ClusterMap::default() });
        assert_eq!(ports(&book), [2, 3, 4, 1]);
        book.answered(at(4));
        assert_eq!(ports(&book), [4, 1, 2, 3]);
        book.failed(at(2));
        assert_eq!(ports(&book), [4, 1, 2, 3], "another's failure changes nothing");
        book.failed(at(4));
        assert_eq!(ports(&book), [1, 2, 3, 4]);
        book.learn(&ClusterMap::default());
        assert_eq!(ports(&book), [1, 2, 3, 4], "an empty map is no news");
        book.answered(at(7));
        assert_eq!(ports(&book), [7, 2, 3, 4, 1], "one that only a hint names");
        book.failed(at(7));
        assert_eq!(ports(&book), [2, 3, 4, 1]);
        let mut none = MgmtBook::default();
        none.failed(at(1));
        assert_eq!(ports(&none), [0_u16; 0]);
    }

    #[test]
    fn hints_that_cannot_be_read_are_no_hints() {
        assert_eq!(hinted(&["nonsense".into(), "127.0.0.1:5".into()]), Some(at(5)));
        assert_eq!(hinted(&[]), None);
    }
}
