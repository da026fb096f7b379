// SPDX-License-Identifier: Apache-2.0

//! Directories with more than one name.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::locations::NameAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::InodeId;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct DirectoryNames;

impl Class for DirectoryNames {
    fn id(&self) -> &'static str {
        "directory-names"
    }

    fn meaning(&self) -> &'static str {
        "a directory has more than one name, or the root has one"
    }

    fn repair(&self) -> &'static str {
        "the names go that are not where the directory says that it is"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(parent) = object.record.as_ref().filter(|_| object.is_dir()).and_then(|record| record.parent) else {
            return;
        };
        let root = object.inode == InodeId::ROOT;
        if object.name_count <= u64::from(!root) {
            return;
        }
        let right = object.names.iter().position(|name| name.dir == parent).unwrap_or(0);
        let keep = (!root).then_some(right);
        let wrong = object.names.iter().enumerate().filter(|(at, _)| Some(*at) != keep);
        let remove = |(_, name): (usize, &NameAt)| {
            Fix::Meta(Repair::RemoveName { dir: name.dir, cookie: name.cookie, inode: object.inode })
        };
        let detail = format!("it has {} names", object.name_count);
        report.find(Subject::Inode(object.inode), detail, wrong.map(remove).collect());
    }
}
