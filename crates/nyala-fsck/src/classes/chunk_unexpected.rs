// SPDX-License-Identifier: Apache-2.0

//! Chunk files where the layout of their file has none.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject, Weight};
use crate::locations::ChunkAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::check::InodeFact;
use nyala_wire::storage::ChunkFileId;
use nyala_wire::{DataLocation, Layout};

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
        "with --remove-chunks it is removed, if all is there that the layout does have: else it may be the layout that is damaged, \
        and this the only copy of its data"
    }

    fn weight(&self) -> Weight {
        Weight::Waste
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        if object.leaves {
            return;
        }
        let whole = record.layout.as_ref().is_some_and(|layout| is_whole(report, object, record, layout));
        let unexpected: Vec<_> = object.chunks.iter().filter(|chunk| !belongs(report, record, chunk)).collect();
        for chunk in unexpected {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let rest = if whole { "the rest of the file is there" } else { "it may be the layout that is damaged" };
            let fixes = if whole { vec![Fix::RemoveChunk(chunk.target, file)] } else { Vec::new() };
            report.find(Subject::Chunk(chunk.target, file), format!("{} bytes; {rest}", chunk.len), fixes);
        }
    }
}

/// Whether every chunk file is where the layout has it, with as many bytes as the file's size asks for. One with a hole at its end
/// looks as if something were missing, and then nothing is removed.
fn is_whole(report: &Report, object: &Object, record: &InodeFact, layout: &Layout) -> bool {
    layout.indices().all(|index| {
        let wanted = layout.chunk_file_len(index, record.size);
        let mut there = object.chunks.iter().filter(|chunk| chunk.index == index && belongs(report, record, chunk));
        wanted == 0 || there.any(|chunk| chunk.len >= wanted.max(chunk.least))
    })
}

/// Whether the layout has it there. What a member of a mirror group has that is to be filled anew does not count.
fn belongs(report: &Report, record: &InodeFact, chunk: &ChunkAt) -> bool {
    let Some(layout) = record.layout.as_ref().filter(|layout| layout.has(chunk.index)) else {
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
