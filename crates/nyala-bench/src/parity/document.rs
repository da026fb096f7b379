// SPDX-License-Identifier: Apache-2.0

//! The comparison for people.

use super::compare::Comparison;
use crate::document::{Document, Table};
use crate::ratio::Ratio;
use crate::report::table::{aims, figure};

/// For people.
pub fn document(comparison: &Comparison) -> Document {
    let heads = ["PLACEMENT", "WRITTEN", "RATIO", "LEAST", "MOST", "READ", "RATIO", "LEAST", "MOST", "SPACE"];
    let mut table = Table::new(&heads);
    let three = |ratio: Option<Ratio>| {
        let of = |part: fn(Ratio) -> f64| figure(ratio.map(part));
        [of(|ratio| ratio.median), of(|ratio| ratio.least), of(|ratio| ratio.most)]
    };
    for placed in &comparison.placements {
        let mut row = vec![placed.placement.name(), figure(Some(placed.write_s_per_gib))];
        row.extend(three(placed.write));
        row.push(figure(Some(placed.read_s_per_gib)));
        row.extend(three(placed.read));
        row.push(figure(placed.space.map(|space| space.median)));
        table.row(row);
    }
    let mut document = Document::default();
    document.text(
        "CPU of all processes, the mount's and this one's among them, seconds per GiB; RATIO by the line above, the median of the rounds;\n\
         SPACE is bytes on disk by bytes of files\n\n",
    );
    document.table(table);
    document.text("\n");
    document.table(aims(&comparison.aims));
    document
}
