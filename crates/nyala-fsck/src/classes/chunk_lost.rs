// SPDX-License-Identifier: Apache-2.0

//! Chunk files that are shorter than their checksums say, or missing.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::locations::ChunkAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::storage::{BLOCK_BYTES, ChunkFileId};
use nyala_wire::{DataLocation, GroupId};

/// See the module's words.
pub struct ChunkLost;

impl Class for ChunkLost {
    fn id(&self) -> &'static str {
        "chunk-lost"
    }

    fn meaning(&self) -> &'static str {
        "a chunk file has lost data: its checksums go farther than it does"
    }

    fn repair(&self) -> &'static str {
        "where it is mirrored, it gets what another member has; else its bytes are nowhere: restore the file, or remove it"
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        for chunk in object.chunks.iter().filter(|chunk| chunk.len < chunk.least && object.record.is_some()) {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let group = group(object, report, chunk);
            let mirrored = if group.is_some() { "mirrored" } else { "not mirrored" };
            let detail = format!("{} bytes on disk, at least {} are needed; {mirrored}", chunk.len, chunk.least);
            let range = chunk.len / BLOCK_BYTES * BLOCK_BYTES..chunk.least;
            let fix = |group| Fix::CopyFromMirror { group, target: chunk.target, file, range };
            report.find(Subject::Chunk(chunk.target, file), detail, group.map(fix).into_iter().collect());
        }
    }
}

/// The mirror group whose other members are to have the same.
fn group(object: &Object, report: &Report, chunk: &ChunkAt) -> Option<GroupId> {
    let layout = object.record.as_ref()?.layout.as_ref()?;
    if !layout.has(chunk.index) {
        return None;
    }
    let DataLocation::Group(id) = layout.location(chunk.index) else { return None };
    let group = report.scope().map.group(id)?;
    (group.members.len() > 1 && group.members.contains(&chunk.target)).then_some(id)
}
