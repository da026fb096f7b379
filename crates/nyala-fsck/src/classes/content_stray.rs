// SPDX-License-Identifier: Apache-2.0

//! Content of nothing, or of something that is to have none.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::FileKind;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct ContentStray;

impl Class for ContentStray {
    fn id(&self) -> &'static str {
        "content-stray"
    }

    fn meaning(&self) -> &'static str {
        "content or extended attributes are kept for an inode that does not exist, or that is to have none"
    }

    fn repair(&self) -> &'static str {
        "they are removed"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let (wants, exists) = match &object.record {
            None => (false, false),
            Some(record) => (record.inline_version.is_some() || record.kind == FileKind::Symlink, true),
        };
        let (content, attributes) = (object.content.filter(|_| !wants), if exists { 0 } else { object.xattr_bytes });
        if content.is_some() || attributes > 0 {
            let of = if exists { "it is to have none" } else { "there is no such inode" };
            let detail = format!("{} bytes of content; {of}", content.unwrap_or(0));
            let fixes = vec![Fix::Meta(Repair::RemoveContent(object.inode))];
            report.find(Subject::Inode(object.inode), detail, fixes);
        }
    }
}
