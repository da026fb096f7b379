// SPDX-License-Identifier: Apache-2.0

//! Files of which a target has nothing.

use super::class::Class;
use crate::finding::{Rests, Subject, Weight};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::DataLocation;

/// See the module's words.
pub struct ChunkMissing;

impl Class for ChunkMissing {
    fn id(&self) -> &'static str {
        "chunk-missing"
    }

    fn meaning(&self) -> &'static str {
        "a target has no data of a file that is to have some there: lost, or a hole that a program left"
    }

    fn repair(&self) -> &'static str {
        "nothing: a hole looks the same, and what was there is nowhere; compare the file with its backup"
    }

    fn weight(&self) -> Weight {
        Weight::Note
    }

    fn rests_on(&self) -> Rests {
        Rests::Chunks
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.inline_version.is_none()) else { return };
        // What encoded files lack is a finding of its own.
        let Some(layout) = record.layout.as_ref().filter(|layout| layout.encoded().is_none()) else { return };
        // A file that takes less than its size has holes.
        if record.allocated.is_some_and(|bytes| bytes < record.size) {
            return;
        }
        let mut missing = Vec::new();
        for index in layout.indices() {
            let expected = layout.chunk_file_len(index, record.size) > 0;
            let there = object.chunks.iter().any(|chunk| chunk.index == index);
            if expected && !there && is_listed(report, layout.location(index)) {
                missing.push(layout.location(index).to_string());
            }
        }
        if !missing.is_empty() {
            let detail = format!("nothing on {}", missing.join(", "));
            report.find(Subject::Inode(object.inode), detail, Vec::new());
        }
    }
}

/// Whether all targets were asked that may have it.
fn is_listed(report: &Report, location: DataLocation) -> bool {
    let scope = report.scope();
    match location {
        DataLocation::Target(target) => scope.listed.contains(&target),
        DataLocation::Group(group) => {
            let members = scope.map.group(group).map(|group| &group.members);
            members.is_some_and(|members| members.iter().all(|member| scope.listed.contains(member)))
        }
    }
}
