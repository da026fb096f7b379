// SPDX-License-Identifier: Apache-2.0

//! Names in a directory that does not exist.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct NamesWithoutDirectory;

impl Class for NamesWithoutDirectory {
    fn id(&self) -> &'static str {
        "names-without-directory"
    }

    fn meaning(&self) -> &'static str {
        "names are in a directory that does not exist"
    }

    fn repair(&self) -> &'static str {
        "the names are removed; what they name and has no other name goes to `lost+found`"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        // One that is a directory's fragment is made anew.
        if let (Some((names, _)), None, None) = (object.listed, &object.record, object.fragment) {
            let detail = format!("there is no such directory, and {names} names in it");
            let fixes = vec![Fix::Meta(Repair::RemoveNames(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
