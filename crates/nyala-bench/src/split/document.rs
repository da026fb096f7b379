// SPDX-License-Identifier: Apache-2.0

//! The comparison for people.

use super::{Comparison, Operation};
use crate::document::{Document, Table};
use crate::report::table::{aims, figure};

/// For people.
pub fn document(comparison: &Comparison) -> Document {
    let heads =
        ["SERVERS", "OPERATION", "THROUGH", "US", "RATIO", "LEAST", "MOST", "BUSIEST", "REQUESTS", "EACH SERVICE, US"];
    let mut table = Table::new(&heads);
    for operation in &comparison.operations {
        let each = operation.services_us.iter().map(|(name, us)| format!("{name} {}", figure(Some(*us))));
        let Operation { us, ratio, least, most, busiest, .. } = operation;
        let figures = [us, ratio, least, most, busiest].map(|value| figure(Some(*value)));
        let [us, ratio, least, most, busiest] = figures;
        table.row([
            operation.servers.to_string(),
            operation.step.name().to_owned(),
            operation.backend.name().to_owned(),
            us,
            ratio,
            least,
            most,
            busiest,
            figure(operation.requests),
            each.collect::<Vec<_>>().join(", "),
        ]);
    }
    let mut document = Document::default();
    document.text(
        "One directory, one client: CPU of all metadata services, microseconds per operation; RATIO by one server, the median\n\
         of the rounds; BUSIEST by the average server\n\n",
    );
    document.table(table);
    document.text("\n");
    document.table(aims(&comparison.aims));
    document
}
