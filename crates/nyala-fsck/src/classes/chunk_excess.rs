// SPDX-License-Identifier: Apache-2.0

//! Chunk files that are longer than their file.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject, Weight};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::storage::ChunkFileId;

/// See the module's words.
pub struct ChunkExcess;

impl Class for ChunkExcess {
    fn id(&self) -> &'static str {
        "chunk-excess"
    }

    fn meaning(&self) -> &'static str {
        "a chunk file has data behind the end of its file: a client ended before it said how far it had written"
    }

    fn repair(&self) -> &'static str {
        "it is cut at the end of its file, while nobody else may write to that"
    }

    fn weight(&self) -> Weight {
        Weight::Waste
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        let Some(layout) = record.layout.as_ref().filter(|_| !object.truncation) else { return };
        for chunk in object.chunks.iter().filter(|chunk| layout.has(chunk.index)) {
            let most = layout.chunk_file_len(chunk.index, record.size);
            if chunk.len > most {
                let file = ChunkFileId { inode: object.inode, index: chunk.index };
                let detail = format!("{} bytes of at most {most}", chunk.len);
                report.find(Subject::Chunk(chunk.target, file), detail, vec![Fix::CutBehindEnd(object.inode)]);
            }
        }
    }
}
