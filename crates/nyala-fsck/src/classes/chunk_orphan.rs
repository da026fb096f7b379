// SPDX-License-Identifier: Apache-2.0

//! Chunk files of files that do not exist.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject, Weight};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::storage::ChunkFileId;

/// See the module's words.
pub struct ChunkOrphan;

impl Class for ChunkOrphan {
    fn id(&self) -> &'static str {
        "chunk-orphan"
    }

    fn meaning(&self) -> &'static str {
        "a chunk file belongs to a file that does not exist, and does not wait for its removal"
    }

    fn repair(&self) -> &'static str {
        "with --remove-chunks it is removed: if metadata was restored from an old copy, it would be the only copy of that data"
    }

    fn weight(&self) -> Weight {
        Weight::Waste
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        if object.record.is_some() || object.garbage || !object.elsewhere.is_empty() {
            return;
        }
        for chunk in &object.chunks {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let fixes = vec![Fix::RemoveChunk(chunk.target, file)];
            report.find(Subject::Chunk(chunk.target, file), format!("{} bytes of no file", chunk.len), fixes);
        }
    }
}
