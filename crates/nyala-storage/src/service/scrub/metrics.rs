// SPDX-License-Identifier: Apache-2.0

//! Metrics of the scrubs that a service does by itself. Failure model: none of its own.

use super::figures::ScrubFigures;
use super::scrubs::Scrubs;
use nyala_metrics::catalog::storage as metrics;
use nyala_metrics::{Metric, Page};
use nyala_wire::TargetId;

type Value = fn(&ScrubFigures) -> u64;

const PER_TARGET: [(&Metric, Value); 6] = [
    (&metrics::SCRUB_FOUND, |scrub| scrub.found_bytes),
    (&metrics::SCRUB_REPAIRED, |scrub| scrub.repaired_bytes),
    (&metrics::SCRUB_DAMAGED, |scrub| scrub.damaged_bytes),
    (&metrics::SCRUB_POSITION, |scrub| scrub.position_bytes),
    (&metrics::SCRUB_ENDED, |scrub| scrub.ended_ms / 1000),
    (&metrics::SCRUB_LATE, |scrub| scrub.late.into()),
];

/// Writes those of these targets.
pub fn write(page: &mut Page, scrubs: &Scrubs, targets: impl Iterator<Item = TargetId>) {
    let figures: Vec<_> = targets.map(|id| (id, scrubs.figures(id))).collect();
    for (metric, value) in PER_TARGET {
        let mut family = page.family(metric);
        figures.iter().for_each(|(id, figures)| family.value(&[id], value(figures)));
    }
}
