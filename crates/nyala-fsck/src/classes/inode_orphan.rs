// SPDX-License-Identifier: Apache-2.0

//! Inodes without a name that are to have one.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::InodeId;

/// See the module's words.
pub struct InodeOrphan;

impl Class for InodeOrphan {
    fn id(&self) -> &'static str {
        "inode-orphan"
    }

    fn meaning(&self) -> &'static str {
        "a file or directory has no name, and was not removed"
    }

    fn repair(&self) -> &'static str {
        "it gets a name in `lost+found`"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|record| record.nlink > 0) else { return };
        // A fragment of a directory has none.
        if object.name_count > 0 || object.inode == InodeId::ROOT || record.range.is_some() {
            return;
        }
        let detail = format!("a {:?} of {} bytes has no name", record.kind, record.size);
        let (inode, kind, links, parent) = (object.inode, record.kind, record.nlink, record.parent);
        let fixes = vec![Fix::Adopt { inode, kind, links, parent }];
        report.find(Subject::Inode(inode), detail, fixes);
    }
}
