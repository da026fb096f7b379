// SPDX-License-Identifier: Apache-2.0

//! Chunk files that members of a mirror group have different data in.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::mirrors::Mirrors;
use crate::report::Report;

/// See the module's words.
pub struct MirrorChunk;

impl Class for MirrorChunk {
    fn id(&self) -> &'static str {
        "mirror-chunk"
    }

    fn meaning(&self) -> &'static str {
        "a member of a mirror group has other data in a chunk file than its primary, by the checksums of its blocks"
    }

    fn repair(&self) -> &'static str {
        "the member gets what its primary has; if it is the primary that is wrong, make the other one primary before"
    }

    fn look_at_mirrors(&self, mirrors: &Mirrors, report: &mut Report) {
        for differ in &mirrors.chunks {
            let (group, primary, member, file) = (differ.group, differ.primary, differ.member, differ.file);
            let bytes: u64 = differ.ranges.iter().map(|range| range.end - range.start).sum();
            let first = differ.ranges.first().map_or(0, |range| range.start);
            let detail = format!("{bytes} bytes are not as on {primary}, from {first} on");
            let fix = Fix::CopyFromPrimary { group, primary, member, file, ranges: differ.ranges.clone() };
            report.find(Subject::Chunk(member, file), detail, vec![fix]);
        }
    }
}
