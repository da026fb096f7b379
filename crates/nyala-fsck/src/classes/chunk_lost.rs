// SPDX-License-Identifier: Apache-2.0

//! Chunk files that are shorter than their checksums say, or missing.

use super::class::{Class, NONE};
use crate::finding::{Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::storage::ChunkFileId;

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
        NONE
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        for chunk in object.chunks.iter().filter(|chunk| chunk.len < chunk.least && object.record.is_some()) {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let detail = format!(
                "{} bytes on disk, at least {} are needed; `nyala scrub` repairs it where it is mirrored",
                chunk.len, chunk.least
            );
            report.find(Subject::Chunk(chunk.target, file), detail, Vec::new());
        }
    }
}
