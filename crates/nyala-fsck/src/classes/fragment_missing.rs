// SPDX-License-Identifier: Apache-2.0

//! Fragments of directories that are lost.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::{FragmentRepair, Repair};

/// See the module's words.
pub struct FragmentMissing;

impl Class for FragmentMissing {
    fn id(&self) -> &'static str {
        "fragment-missing"
    }

    fn meaning(&self) -> &'static str {
        "a directory has a fragment that does not exist"
    }

    fn repair(&self) -> &'static str {
        "the fragment is made anew; files whose names are lost with it get one in `lost+found`"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some((dir, range)) = object.fragment.filter(|_| object.record.is_none()) else { return };
        let detail = format!("directory {dir} has it from {:#x} to {:#x}", range.from, range.upto);
        let mut fixes = vec![Fix::Meta(Repair::Fragment(FragmentRepair::Make { inode: object.inode, dir, range }))];
        if object.listed.is_some_and(|(names, _)| names > 0) {
            fixes.push(Fix::Meta(Repair::CountNames(object.inode)));
        }
        report.find_in(Subject::Inode(object.inode), detail, fixes, vec![object.inode, dir]);
    }
}
