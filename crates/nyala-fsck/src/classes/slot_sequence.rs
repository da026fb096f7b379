// SPDX-License-Identifier: Apache-2.0

//! Slots that would give an inode number again.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::report::Report;
use crate::servers::Servers;
use nyala_wire::meta::ServerRepair;
use nyala_wire::mgmt::SEQUENCES_PER_RANGE;

/// See the module's words.
pub struct SlotSequence;

impl Class for SlotSequence {
    fn id(&self) -> &'static str {
        "slot-sequence"
    }

    fn meaning(&self) -> &'static str {
        "the next inode number of a slot was given before"
    }

    fn repair(&self) -> &'static str {
        "the slot goes on with numbers that were never given"
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for (slot, highest) in &server.highest {
                let Some(next) = server.next.get(slot).filter(|next| *next <= highest) else { continue };
                let detail = format!("slot {slot}: {next:#x} is next, and there is {highest:#x}");
                // Between numbers of a range that is not this target's any more, some may have been given.
                let to = (highest + 1).next_multiple_of(SEQUENCES_PER_RANGE);
                let fixes = vec![Fix::MetaAt(*target, ServerRepair::RaiseSequence { slot: *slot, to })];
                report.find(Subject::Of(*target, u64::from(slot.0) + 1), detail, fixes);
            }
        }
    }
}
