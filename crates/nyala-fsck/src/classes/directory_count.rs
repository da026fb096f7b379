// SPDX-License-Identifier: Apache-2.0

//! Directories that count their names wrongly.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct DirectoryCount;

impl Class for DirectoryCount {
    fn id(&self) -> &'static str {
        "directory-count"
    }

    fn meaning(&self) -> &'static str {
        "a directory counts other names, or other directories in it, than there are"
    }

    fn repair(&self) -> &'static str {
        "its names are counted anew"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = object.record.as_ref().filter(|_| object.is_dir()) else { return };
        let (entries, subdirs) = object.listed.unwrap_or_default();
        let counted = (record.entries.unwrap_or(0), u64::from(record.nlink));
        if counted != (entries, subdirs + 2) {
            let detail = format!(
                "it counts {} names and {} links; there are {entries} names, and with {subdirs} directories {} links",
                counted.0,
                counted.1,
                subdirs + 2
            );
            let fixes = vec![Fix::Meta(Repair::CountNames(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
