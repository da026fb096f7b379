// SPDX-License-Identifier: Apache-2.0

//! Fragments that their directory does not have.

use super::class::Class;
use crate::finding::{Fix, Rests, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::{FragmentRepair, Repair};

/// See the module's words.
pub struct FragmentStray;

impl Class for FragmentStray {
    fn id(&self) -> &'static str {
        "fragment-stray"
    }

    fn meaning(&self) -> &'static str {
        "an inode says that it is a fragment of a directory, and that directory does not have it, or not with this range"
    }

    fn repair(&self) -> &'static str {
        "it goes; what was named in it gets a name in `lost+found`"
    }

    fn rests_on(&self) -> Rests {
        Rests::Names
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = &object.record else { return };
        let (Some(range), Some(dir)) = (record.range, record.parent) else { return };
        if object.fragment == Some((dir, range)) {
            return;
        }
        let detail = format!("it says that it is a fragment of {dir} from {:#x} to {:#x}", range.from, range.upto);
        let fixes = vec![Fix::Meta(Repair::Fragment(FragmentRepair::Remove(object.inode)))];
        report.find_in(Subject::Inode(object.inode), detail, fixes, vec![object.inode, dir]);
    }
}
