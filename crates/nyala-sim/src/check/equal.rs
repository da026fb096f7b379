// SPDX-License-Identifier: Apache-2.0

//! **Replicas are equal.** After a quiet time all members of the group are good, of one version, and hold the same blocks.

use crate::node::Node;

/// Compares all disks.
pub fn check(nodes: &[Node]) -> Result<(), String> {
    let first = nodes[0].disk.content();
    for node in &nodes[1..] {
        let content = node.disk.content();
        if let Some((at, tag)) = first.iter().find(|(at, tag)| content.get(at) != Some(tag)) {
            let (file, block, other) = (at.0.inode.0, at.1, content.get(at));
            return Err(format!(
                "equal: file {file} block {block} is {tag} on {}, {other:?} on {}",
                nodes[0].target, node.target
            ));
        }
        if let Some((at, tag)) = content.iter().find(|(at, _)| !first.contains_key(at)) {
            let (file, block) = (at.0.inode.0, at.1);
            return Err(format!(
                "equal: file {file} block {block} is {tag} on {}, a hole on {}",
                node.target, nodes[0].target
            ));
        }
    }
    Ok(())
}
