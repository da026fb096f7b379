// SPDX-License-Identifier: Apache-2.0

//! Content that is to be there and is not.

use super::class::Class;
use crate::finding::Subject;
use crate::object::Object;
use crate::report::Report;
use nyala_wire::FileKind;

/// See the module's words.
pub struct ContentLost;

impl Class for ContentLost {
    fn id(&self) -> &'static str {
        "content-lost"
    }

    fn meaning(&self) -> &'static str {
        "the content of a small file, or the target of a symbolic link, is lost"
    }

    fn repair(&self) -> &'static str {
        "nothing: its bytes are nowhere; restore the file, or remove it"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(record) = &object.record else { return };
        // Version 0 is empty, and nothing is kept of it.
        let wanted = record.inline_version.is_some_and(|version| version > 0) || record.kind == FileKind::Symlink;
        if wanted && object.content.is_none() {
            let detail = format!("{} bytes of a {:?} are lost: restore it, or remove it", record.size, record.kind);
            report.find(Subject::Inode(object.inode), detail, Vec::new());
        }
    }
}
