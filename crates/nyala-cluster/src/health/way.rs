// SPDX-License-Identifier: Apache-2.0

//! A way between two servers, and when it counts as failing.

use nyala_wire::NodeId;
use nyala_wire::map::Node;
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
    pub from: &'a Node,
    pub to: &'a Node,
    pub state: LinkState,
}

impl Way<'_> {
    pub fn flaps(&self) -> bool {
        let lately = self.state.silent_ms.is_some() || self.state.last_break_ms.is_some_and(|ago| ago < CALM_MS);
        self.state.breaks > BREAKS && lately
    }

    pub fn is_lost(&self) -> bool {
        self.state.silent_ms.is_some_and(|silent| silent >= LOST_MS)
    }

    pub fn ends(&self) -> [NodeId; 2] {
        [self.from.id, self.to.id]
    }
}
