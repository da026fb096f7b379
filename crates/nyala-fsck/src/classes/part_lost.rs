// SPDX-License-Identifier: Apache-2.0

//! Encoded files of which a part is not whole.

use super::class::Class;
use crate::finding::{Rests, Subject, Weight};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::DataLocation;

/// See the module's words.
pub struct PartLost;

impl Class for PartLost {
    fn id(&self) -> &'static str {
        "part-lost"
    }

    fn meaning(&self) -> &'static str {
        "a target has not all that it is to have of an erasure coded file; what is lost is computed from the other parts when it is read"
    }

    fn repair(&self) -> &'static str {
        "nothing; a mount that reads it makes the file whole again, and so does nyala entry encode --repair FILE, while no more parts are lost than it has with parity"
    }

    fn weight(&self) -> Weight {
        Weight::Damage
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        let Some((layout, code)) = record.layout.as_ref().and_then(|layout| Some((layout, layout.encoded()?))) else {
            return;
        };
        let mut lost = Vec::new();
        for index in layout.indices() {
            let DataLocation::Target(target) = layout.location(index) else { continue };
            let wanted = layout.chunk_file_len(index, record.size);
            let is_there = |chunk: &crate::locations::ChunkAt| {
                (chunk.target, chunk.index) == (target, index) && chunk.len >= wanted
            };
            if wanted > 0 && report.scope().listed.contains(&target) && !object.chunks.iter().any(is_there) {
                lost.push(target.to_string());
            }
        }
        if lost.is_empty() {
            return;
        }
        let over = if lost.len() > usize::from(code.parity) { ": too many to compute them" } else { "" };
        let parts = format!("of {}+{} parts those on {} are not whole{over}", code.data, code.parity, lost.join(", "));
        report.find(Subject::Inode(object.inode), parts, Vec::new());
    }
}
