// SPDX-License-Identifier: Apache-2.0

//! Directories that say that they are in another directory than the one that has their name.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::InodeId;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct DirectoryParent;

impl Class for DirectoryParent {
    fn id(&self) -> &'static str {
        "directory-parent"
    }

    fn meaning(&self) -> &'static str {
        "a directory says that it is in another one than the one that has its name"
    }

    fn repair(&self) -> &'static str {
        "it says where its name is"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(from) = object.record.as_ref().filter(|_| object.is_dir()).and_then(|record| record.parent) else {
            return;
        };
        if object.inode == InodeId::ROOT || object.name_count != 1 {
            return;
        }
        if let Some(name) = object.names.first().filter(|name| name.of != from) {
            let detail = format!("its name is in {}, and it says {from}", name.of);
            let fixes = vec![Fix::Meta(Repair::SetParent { dir: object.inode, from, to: name.of })];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
