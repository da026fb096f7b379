// SPDX-License-Identifier: Apache-2.0

//! Chunk files where the layout of their file has none.

use super::class::{Class, NONE};
use crate::finding::{Rests, Subject, Weight};
use crate::object::{ChunkAt, Object};
use crate::report::Report;
use nyala_wire::DataLocation;
use nyala_wire::check::InodeFact;
use nyala_wire::storage::ChunkFileId;

/// See the module's words.
pub struct ChunkUnexpected;

impl Class for ChunkUnexpected {
    fn id(&self) -> &'static str {
        "chunk-unexpected"
    }

    fn meaning(&self) -> &'static str {
        "a chunk file lies on a target, or has a stripe index, that the layout of its file does not have"
    }

    fn repair(&self) -> &'static str {
        NONE
    }

    fn weight(&self) -> Weight {
        Weight::Waste
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        let unexpected: Vec<_> = object.chunks.iter().filter(|chunk| !belongs(report, record, chunk)).collect();
        for chunk in unexpected {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let detail = format!("{} bytes; it may be the layout that is damaged", chunk.len);
            report.find(Subject::Chunk(chunk.target, file), detail, Vec::new());
        }
    }
}

/// Whether the layout has it there. What a member of a mirror group has that is to be filled anew does not count.
fn belongs(report: &Report, record: &InodeFact, chunk: &ChunkAt) -> bool {
    let Some(layout) = record.layout.as_ref().filter(|layout| usize::from(chunk.index) < layout.targets.len()) else {
        return false;
    };
    match layout.location(chunk.index) {
        DataLocation::Target(target) => target == chunk.target,
        // A group that does not exist is a finding of its own.
        DataLocation::Group(group) => {
            report.scope().map.group(group).is_none_or(|group| group.members.contains(&chunk.target))
        }
    }
}
