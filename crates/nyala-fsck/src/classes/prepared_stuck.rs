// SPDX-License-Identifier: Apache-2.0

//! Parts of transactions that are prepared and do not end.

use super::class::Class;
use crate::finding::Subject;
use crate::report::Report;
use crate::servers::Servers;

/// See the module's words.
pub struct PreparedStuck;

impl Class for PreparedStuck {
    fn id(&self) -> &'static str {
        "prepared-stuck"
    }

    fn meaning(&self) -> &'static str {
        "a part of a transaction is prepared and does not end: what it locks, nobody can change"
    }

    fn repair(&self) -> &'static str {
        "nothing: only the metadata target that began it knows its end, and is asked all the time; start that one, or restore it"
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for tx in &server.prepared {
                let detail = format!(
                    "transaction {:#x} of metadata target {}, which has to say its end",
                    tx.number, tx.coordinator
                );
                report.find(Subject::Of(*target, tx.number), detail, Vec::new());
            }
        }
    }
}
