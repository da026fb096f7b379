// SPDX-License-Identifier: Apache-2.0

//! The loops that were found.

use nyala_wire::InodeId;
use std::collections::BTreeMap;

/// The loops that a set of directories has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loops {
    /// Each member of a loop, and the directory above it.
    pub above: BTreeMap<InodeId, InodeId>,
}

impl Loops {
    /// The members of the loop that a directory is in, beginning with the smallest; empty if it is in none.
    pub fn of(&self, dir: InodeId) -> Vec<InodeId> {
        let (mut members, mut at) = (Vec::new(), dir);
        while let Some(above) = self.above.get(&at) {
            members.push(at);
            at = *above;
            if at == dir {
                let smallest = (0..members.len()).min_by_key(|place| members[*place]).unwrap_or(0);
                members.rotate_left(smallest);
                return members;
            }
            if members.len() > self.above.len() {
                break;
            }
        }
        Vec::new()
    }
}
