// SPDX-License-Identifier: Apache-2.0

//! Inodes that count their extended attributes wrongly.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct XattrCount;

impl Class for XattrCount {
    fn id(&self) -> &'static str {
        "xattr-count"
    }

    fn meaning(&self) -> &'static str {
        "an inode says something else of its extended attributes than there is"
    }

    fn repair(&self) -> &'static str {
        "they are counted anew"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = &object.record else { return };
        let counted = u64::from(record.xattr_bytes.unwrap_or(0));
        if counted != object.xattr_bytes {
            let detail = format!("it counts {counted} bytes of names, there are {}", object.xattr_bytes);
            let fixes = vec![Fix::Meta(Repair::CountXattrs(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
