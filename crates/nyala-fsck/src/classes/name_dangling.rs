// SPDX-License-Identifier: Apache-2.0

//! Names whose inode does not exist.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::locations::NameAt;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct NameDangling;

impl Class for NameDangling {
    fn id(&self) -> &'static str {
        "name-dangling"
    }

    fn meaning(&self) -> &'static str {
        "a name is there, and its inode is not"
    }

    fn repair(&self) -> &'static str {
        "the name is removed"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        if object.record.is_some() || object.names.is_empty() || !object.elsewhere.is_empty() {
            return;
        }
        let remove =
            |name: &NameAt| Fix::Meta(Repair::RemoveName { dir: name.dir, cookie: name.cookie, inode: object.inode });
        let dirs: Vec<String> = object.names.iter().map(|name| name.dir.to_string()).collect();
        let detail = format!("there is no such inode; names in {}", dirs.join(", "));
        report.find(Subject::Inode(object.inode), detail, object.names.iter().map(remove).collect());
    }
}
