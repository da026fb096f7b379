// SPDX-License-Identifier: Apache-2.0

//! Inodes without links that nobody holds open.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct InodeUnlinked;

impl Class for InodeUnlinked {
    fn id(&self) -> &'static str {
        "inode-unlinked"
    }

    fn meaning(&self) -> &'static str {
        "a file without links is still there, and nobody holds it open"
    }

    fn repair(&self) -> &'static str {
        "it is removed, and its chunk files"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|_| !object.is_dir()) else { return };
        if record.nlink == 0 && object.name_count == 0 && object.opens == 0 {
            let detail = format!("{} bytes without links", record.size);
            let fixes = vec![Fix::Meta(Repair::RemoveInode(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
