// SPDX-License-Identifier: Apache-2.0

//! Locks that two rows say different things of.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::object::Object;
use crate::report::Report;
use nyala_wire::SessionId;
use nyala_wire::meta::Repair;

/// See the module's words.
pub struct LockStray;

impl Class for LockStray {
    fn id(&self) -> &'static str {
        "lock-stray"
    }

    fn meaning(&self) -> &'static str {
        "the locks of a file and those of a session say different things, or there is no such session"
    }

    fn repair(&self) -> &'static str {
        "locks of sessions that do not exist go; else those of the file count"
    }

    fn look(&self, object: &Object, report: &mut Report) {
        let Some(first) = object.stray_locks.first() else { return };
        let detail = format!("locks of {} sessions, such as {:#x}", object.stray_locks.len(), first.0);
        let settle = |session: &SessionId| Fix::Meta(Repair::SettleLocks { inode: object.inode, session: *session });
        report.find(Subject::Inode(object.inode), detail, object.stray_locks.iter().map(settle).collect());
    }
}
