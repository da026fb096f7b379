// SPDX-License-Identifier: Apache-2.0

//! When an address of a server is lost to another one, and when it comes and goes.

use super::reported::Reported;
use nyala_wire::NodeId;
use nyala_wire::map::{ClusterMap, Node, Reachability};
use nyala_wire::mgmt::LinkState;

/// An address is lost when it has not answered for so long: packets are lost now and then, and a new connection takes a moment.
const LOST_MS: u64 = 3_000;
/// An address comes and goes when it was lost more often than this within a minute ...
const BREAKS: u64 = 3;
/// ... until it was not lost for so long.
const CALM_MS: u64 = 30_000;

/// One server does not reach another at an address.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// Who does not reach.
    pub from: &'a Node,
    /// Whom.
    pub to: &'a Node,
    /// At which address, and since when.
    pub state: LinkState,
}

impl Way<'_> {
    /// Whether it comes and goes.
    pub fn flaps(&self) -> bool {
        let lately = self.state.silent_ms.is_some() || self.state.last_break_ms.is_some_and(|ago| ago < CALM_MS);
        self.state.breaks > BREAKS && lately
    }

    /// Whether it is lost.
    fn is_lost(&self) -> bool {
        self.state.silent_ms.is_some_and(|silent| silent >= LOST_MS)
    }

    /// From which server to which.
    pub fn ends(&self) -> [NodeId; 2] {
        [self.from.id, self.to.id]
    }
}

/// Ways that fail to servers that are alive, at addresses that they still have, in the order of their ends.
pub(super) fn failing<'a>(map: &'a ClusterMap, reports: &[Reported]) -> Vec<Way<'a>> {
    let mut ways = Vec::new();
    for report in reports {
        let (Some(from), Some(links)) = (map.node(report.by), &report.links) else { continue };
        for state in &links.worst {
            let to = map.node(state.node).filter(|to| to.addresses.contains(&state.address));
            let to = to.filter(|to| to.reachability == Reachability::Online && to.id != from.id);
            ways.extend(to.map(|to| Way { from, to, state: *state }));
        }
    }
    ways.retain(|way| way.flaps() || way.is_lost());
    ways.sort_by_key(|way| (way.ends(), way.state.address));
    ways
}
