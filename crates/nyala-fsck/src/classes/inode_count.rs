// SPDX-License-Identifier: Apache-2.0

//! Servers that count other inodes than they have.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::report::Report;
use crate::servers::Servers;
use nyala_wire::meta::ServerRepair;

/// See the module's words.
pub struct InodeCount;

impl Class for InodeCount {
    fn id(&self) -> &'static str {
        "inode-count"
    }

    fn meaning(&self) -> &'static str {
        "a metadata target counts other inodes than it has; seen only while nothing changes there"
    }

    fn repair(&self) -> &'static str {
        "the count is corrected"
    }

    fn is_sure(&self) -> bool {
        true
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        if !report.scope().all_names {
            return;
        }
        for (target, server) in servers.iter().filter(|(_, server)| server.is_steady()) {
            let Some(from) = server.count.filter(|count| *count != server.seen) else { continue };
            let detail = format!("it counts {from} inodes and has {}", server.seen);
            let fixes = vec![Fix::MetaAt(*target, ServerRepair::SetCount { from, to: server.seen })];
            report.find(Subject::Of(*target, 0), detail, fixes);
        }
    }
}
