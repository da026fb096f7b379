// SPDX-License-Identifier: Apache-2.0

//! Directories that are below themselves.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct DirectoryLoop;

impl Class for DirectoryLoop {
    fn id(&self) -> &'static str {
        "directory-loop"
    }

    fn meaning(&self) -> &'static str {
        "directories are in each other in a circle, so that no path leads to them"
    }

    fn repair(&self) -> &'static str {
        "one of them goes to `lost+found`"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let members = report.scope().loops.of(object.inode);
        let (Some(record), Some(first)) = (&object.record, members.first()) else { return };
        if *first != object.inode {
            return;
        }
        let detail = format!("no path leads to it: it is one of {} directories in a circle", members.len());
        let mut fixes: Vec<Fix> = object
            .names
            .iter()
            .map(|name| Fix::Meta(Repair::RemoveName { dir: name.dir, cookie: name.cookie, inode: object.inode }))
            .collect();
        let (inode, kind, links, parent) = (object.inode, record.kind, record.nlink, record.parent);
        fixes.push(Fix::Adopt { inode, kind, links, parent });
        report.find_in(Subject::Inode(object.inode), detail, fixes, members);
    }
}
