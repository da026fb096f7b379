// SPDX-License-Identifier: Apache-2.0

//! Replies kept for sessions that there are not.

use super::class::Class;
use crate::finding::{Fix, Subject};
use crate::report::Report;
use crate::servers::Servers;
use nyala_wire::meta::ServerRepair;

/// See the module's words.
pub struct RepliesStray;

impl Class for RepliesStray {
    fn id(&self) -> &'static str {
        "replies-stray"
    }

    fn meaning(&self) -> &'static str {
        "replies are kept for a session that does not exist"
    }

    fn repair(&self) -> &'static str {
        "they are removed"
    }

    fn look_at_servers(&self, servers: &Servers, report: &mut Report) {
        for (target, server) in servers {
            for session in &server.stray_replies {
                let detail = format!("there is no session {:#x}", session.0);
                let fixes = vec![Fix::MetaAt(*target, ServerRepair::RemoveReplies { session: *session })];
                report.find(Subject::Of(*target, session.0), detail, fixes);
            }
        }
    }
}
