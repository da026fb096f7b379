// SPDX-License-Identifier: Apache-2.0

//! Rows that cannot be read.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::report::Report;
use crate::servers::Servers;
use nyala_wire::check::may_be_set_aside;
use nyala_wire::meta::ServerRepair;

/// See the module's words.
pub struct RowUnreadable;

impl Class for RowUnreadable {
    fn id(&self) -> &'static str {
        "row-unreadable"
    }

    fn meaning(&self) -> &'static str {
        "a row of the metadata tables cannot be read"
    }

    fn repair(&self) -> &'static str {
        "it is kept where nobody reads it, and what only it named goes to `lost+found`; an inode, a transaction or a number \
        stays: restore the target from its mirror or its backup"
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for key in &server.unreadable {
                let number = key.iter().skip(1).take(8).fold(0, |n, byte| n << 8 | u64::from(*byte));
                let aside = Fix::MetaAt(*target, ServerRepair::SetAside { key: key.clone().into() });
                let fixes = if may_be_set_aside(key) { vec![aside] } else { Vec::new() };
                report.find(Subject::Of(*target, number), format!("key {}", key.escape_ascii()), fixes);
            }
        }
    }
}
