// SPDX-License-Identifier: Apache-2.0

//! The report of `nyala bench sessions` for people.

use super::Report;
use crate::document::{Document, Table};
use crate::report::table::{aims, figure};
use nyala_wire::map::Role;

fn mib(bytes: u64) -> String {
    figure(Some(bytes as f64 / (1 << 20) as f64))
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Mgmt => "mgmt",
        Role::Meta => "meta",
        Role::Storage => "storage",
        Role::Client => "client",
    }
}

/// The whole report.
pub fn render(report: &Report) -> Document {
    let mut servers = Table::new(&["ROLE", "SERVER", "MIB-BEFORE", "MIB-WITH", "KIB-PER-SESSION", "IDLE-CPU-%"]);
    for server in &report.servers {
        servers.row([
            role(server.role).to_owned(),
            server.name.clone(),
            mib(server.before_bytes),
            mib(server.with_bytes),
            figure(Some(server.per_session_bytes / 1024.0)),
            figure(Some(server.idle_cpu_percent)),
        ]);
    }
    let mut work = Table::new(&["OPERATION", "CLIENTS", "TASKS", "OPS", "PER-S", "P99-US", "SERVERS-US"]);
    for row in &report.work {
        work.row([
            row.step.to_owned(),
            row.clients.to_string(),
            row.tasks.to_string(),
            row.ops.to_string(),
            figure(Some(row.per_s)),
            figure(Some(row.p99_us)),
            figure(Some(row.servers_us)),
        ]);
    }
    let mut document = Document::default();
    document.text(format!(
        "nyala bench sessions: {} idle sessions at every server, {} of them lost; requests sent again over another connection: {}\n\n",
        report.idle, report.lost, report.again
    ));
    document.table(servers);
    document.text("\n");
    document.table(work);
    document.text("\n");
    document.table(aims(&report.aims));
    document
}
