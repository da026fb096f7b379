// SPDX-License-Identifier: Apache-2.0

//! What sessions hold open that there are not.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::SessionId;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct OpenStray;

impl Class for OpenStray {
    fn id(&self) -> &'static str {
        "open-stray"
    }

    fn meaning(&self) -> &'static str {
        "a session that does not exist holds a file open, so that it would never be removed"
    }

    fn repair(&self) -> &'static str {
        "the file is closed; without links it goes"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(first) = object.stray_opens.first() else { return };
        let detail = format!("{} sessions that do not exist, such as {:#x}", object.stray_opens.len(), first.0);
        let close = |session: &SessionId| Fix::Meta(Repair::CloseStray { inode: object.inode, session: *session });
        report.find(Subject::Inode(object.inode), detail, object.stray_opens.iter().map(close).collect());
    }
}
