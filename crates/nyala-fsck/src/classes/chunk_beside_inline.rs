// SPDX-License-Identifier: Apache-2.0

//! Chunk files of files whose content is inline.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject, Weight};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::storage::ChunkFileId;

/// See the module's words.
pub struct ChunkBesideInline;

impl Class for ChunkBesideInline {
    fn id(&self) -> &'static str {
        "chunk-beside-inline"
    }

    fn meaning(&self) -> &'static str {
        "a chunk file belongs to a file whose content is inline: a client ended while it moved it"
    }

    fn repair(&self) -> &'static str {
        "what its metadata server knows to be left by a client is cut; the rest with --remove-chunks: with metadata from an old copy, it would \
        be the newer data"
    }

    fn weight(&self) -> Weight {
        Weight::Waste
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let inline = object.record.as_ref().is_some_and(|record| record.inline_version.is_some());
        for chunk in object.chunks.iter().filter(|_| inline) {
            let file = ChunkFileId { inode: object.inode, index: chunk.index };
            let fixes = vec![Fix::CutBesideInline(object.inode)];
            report.find(
                Subject::Chunk(chunk.target, file),
                format!("{} bytes beside inline content", chunk.len),
                fixes,
            );
        }
    }
}
