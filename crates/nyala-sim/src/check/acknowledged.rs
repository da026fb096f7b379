// SPDX-License-Identifier: Apache-2.0

//! **An acknowledged write is on every member that the map calls good.** Looked at in the moment in which the primary answers,
//! while its epoch is the newest: no other write can have come in between.

use crate::event::Blocks;
use crate::node::Node;
use nyala_wire::TargetId;
use nyala_wire::map::{Group, MemberState};
use nyala_wire::storage::ChunkFileId;

/// The primary of `epoch` answers for these blocks.
pub fn check(group: &Group, epoch: u32, nodes: &[Node], file: ChunkFileId, data: &Blocks) -> Result<(), String> {
    if group.epoch != epoch {
        return Ok(());
    }
    let good = |target: TargetId| group.state(target) == Some(MemberState::Good);
    for node in nodes.iter().filter(|node| good(node.target)) {
        for (at, tag) in data.tags.iter().enumerate() {
            let block = data.first + at as u64;
            // One that lost power is not good any more, only nobody has noticed yet.
            let has = node.disk.get(file, block);
            if has != *tag && !node.lost_power {
                let (file, target) = (file.inode.0, node.target);
                return Err(format!("acknowledged: file {file} block {block} is {has} on good {target}, not {tag}"));
            }
        }
    }
    Ok(())
}
