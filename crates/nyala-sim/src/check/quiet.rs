// SPDX-License-Identifier: Apache-2.0

//! **It comes to rest.** Without faults and new requests, within a bounded time: nobody waits for an answer, every resync has
//! ended with all members good, and nothing is remembered that says that members may differ.

use crate::client::Client;
use crate::node::Node;
use nyala_wire::map::{Group, MemberState};

/// What is not at rest yet, if anything.
pub fn unrest(group: &Group, nodes: &[Node], clients: &[Client]) -> Option<String> {
    if let Some(client) = clients.iter().find(|client| client.pending.is_some()) {
        return Some(format!("client {} waits for {:?}", client.number, client.pending));
    }
    if !group.is_settled() {
        return Some(format!("targets {:?} are not fenced", group.fencing));
    }
    if let Some((target, state)) = group.members_with_states().find(|(_, state)| *state != MemberState::Good) {
        return Some(format!("target {target} is {state:?}"));
    }
    for node in nodes {
        let Some(member) = &node.member else { return Some(format!("target {} is not up", node.target)) };
        if member.busy() > 0 {
            return Some(format!("target {} has {} pieces of work", node.target, member.busy()));
        }
        if !member.is_clean() {
            return Some(format!(
                "target {} remembers differences: {:?} {:?}",
                node.target,
                member.role(),
                member.tracked()
            ));
        }
    }
    None
}
