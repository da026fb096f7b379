// SPDX-License-Identifier: Apache-2.0

//! Ranges of inode sequence numbers. A metadata target gives out inode numbers only from ranges that it got here, and takes
//! a new one at every start: so no number is given out twice, whatever state its directory was put back to. A range is for
//! all slots of its target, and no two targets get the same one: a slot may move.

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::TargetId;
use nyala_wire::map::TargetKind;
use nyala_wire::mgmt::MAX_RANGE;

impl ClusterState {
    pub(crate) fn hand_out_range(&mut self, id: TargetId, last: u32, range: u32) -> Result<Vec<Event>, ClusterError> {
        let before = self.last_range;
        let target = self.target_mut(id).ok_or(ClusterError::NoTarget { target: id })?;
        if target.kind != TargetKind::Meta {
            return Err(ClusterError::invalid("only metadata targets give out inode numbers"));
        }
        if last != before {
            return Ok(Vec::new());
        }
        if range > MAX_RANGE {
            return Err(ClusterError::Exhausted { what: "inode numbers".to_owned() });
        }
        if range <= last {
            return Err(ClusterError::invalid("a range of inode numbers is given out once"));
        }
        target.range = range;
        self.last_range = range;
        Ok(vec![Event::RangeHandedOut(id, range)])
    }
}
