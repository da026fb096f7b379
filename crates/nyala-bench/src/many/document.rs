// SPDX-License-Identifier: Apache-2.0

//! What very many names cost, for people.

use super::ManyNames;
use crate::document::{Document, Table};
use crate::report::table::{aims, figure};

const MIB: f64 = 1_048_576.0;

/// For people.
pub fn document(names: &ManyNames) -> Document {
    let mut document = Document::default();
    document.text("Empty files through the native client; CPU and requests for each, memory of all metadata services afterwards\n\n");
    let heads =
        ["DIRECTORIES", "OPERATION", "ITEMS", "RATE", "META-US", "CLIENT-US", "P99-US", "REQUESTS", "MEMORY-MIB"];
    let mut table = Table::new(&heads);
    for operation in &names.operations {
        table.row([
            operation.directories.to_string(),
            operation.step.name().to_owned(),
            operation.items.to_string(),
            figure(Some(operation.rate)),
            figure(operation.meta_us),
            figure(operation.client_us),
            figure(Some(operation.p99_us)),
            figure(operation.requests),
            figure(Some(operation.held.resident_bytes as f64 / MIB)),
        ]);
    }
    document.table(table);
    document.text("\n");
    let mut table =
        Table::new(&["DIRECTORIES", "NAMES", "SERVERS", "BYTES ON DISK FOR A NAME", "MEMORY OF A SERVER, MIB"]);
    for form in &names.forms {
        table.row([
            form.directories.to_string(),
            form.names.to_string(),
            form.servers.to_string(),
            figure(Some(form.disk_bytes)),
            figure(Some(form.memory_bytes as f64 / MIB)),
        ]);
    }
    document.table(table);
    document.text("\n");
    document.table(aims(&names.aims));
    document
}
