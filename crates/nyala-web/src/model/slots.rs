// SPDX-License-Identifier: Apache-2.0

//! Slots of metadata servers, and those on their way.

use crate::facts::Facts;
use nyala_wire::TargetId;
use std::collections::BTreeMap;

/// A metadata server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Slots that it serves.
    pub slots: u32,
    /// Those of them that are on their way to another one.
    pub going: u32,
    /// Slots on their way to it.
    pub coming: u32,
}

/// All metadata servers, by id.
pub fn servers(facts: &Facts<'_>) -> BTreeMap<TargetId, Server> {
    let mut servers: BTreeMap<TargetId, Server> = BTreeMap::new();
    for range in &facts.map.slots {
        servers.entry(range.target).or_default().slots += u32::from(range.count);
    }
    for moving in &facts.map.moves {
        servers.entry(moving.from).or_default().going += 1;
        servers.entry(moving.to).or_default().coming += 1;
    }
    servers
}
