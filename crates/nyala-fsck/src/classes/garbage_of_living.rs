// SPDX-License-Identifier: Apache-2.0

//! Chunk files that wait for their removal although their file exists.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct GarbageOfLiving;

impl Class for GarbageOfLiving {
    fn id(&self) -> &'static str {
        "garbage-of-living"
    }

    fn meaning(&self) -> &'static str {
        "the chunk files of a file that exists wait for their removal"
    }

    fn repair(&self) -> &'static str {
        "they are not removed"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        if object.garbage && object.record.is_some() {
            let detail = "its chunk files are about to be removed, and it exists".to_owned();
            let fixes = vec![Fix::Meta(Repair::KeepChunks(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
