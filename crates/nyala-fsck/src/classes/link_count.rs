// SPDX-License-Identifier: Apache-2.0

//! Inodes that count other links than they have names.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct LinkCount;

impl Class for LinkCount {
    fn id(&self) -> &'static str {
        "link-count"
    }

    fn meaning(&self) -> &'static str {
        "a file counts other links than it has names"
    }

    fn repair(&self) -> &'static str {
        "it counts its names"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|_| !object.is_dir()) else { return };
        let Ok(names @ 1..) = u32::try_from(object.name_count) else { return };
        if record.nlink != names {
            let detail = format!("it counts {} links and has {names} names", record.nlink);
            let fixes = vec![Fix::Meta(Repair::SetLinks { inode: object.inode, from: record.nlink, to: names })];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
