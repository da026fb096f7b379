// SPDX-License-Identifier: Apache-2.0

//! Rows that cannot be read.

use super::class::{Class, NONE};
use crate::finding::Subject;
use crate::report::Report;
use crate::servers::Servers;

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
        NONE
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for key in &server.unreadable {
                let number = key.iter().skip(1).take(8).fold(0, |n, byte| n << 8 | u64::from(*byte));
                report.find(Subject::Of(*target, number), format!("key {}", key.escape_ascii()), Vec::new());
            }
        }
    }
}
