// SPDX-License-Identifier: Apache-2.0

//! Transactions that were decided and are not confirmed.

use super::class::Class;
use crate::finding::Subject;
use crate::report::Report;
use crate::servers::Servers;

/// See the module's words.
pub struct CommittedStuck;

impl Class for CommittedStuck {
    fn id(&self) -> &'static str {
        "committed-stuck"
    }

    fn meaning(&self) -> &'static str {
        "a transaction was decided, and not all servers confirm it"
    }

    fn repair(&self) -> &'static str {
        "nothing: it ends by itself when they answer; start the metadata targets that are named, or restore them"
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for (number, waits_for) in &server.committed {
                let waits: Vec<String> = waits_for.iter().map(ToString::to_string).collect();
                let detail = format!("metadata targets that do not confirm it: {}", waits.join(", "));
                report.find(Subject::Of(*target, *number), detail, Vec::new());
            }
        }
    }
}
