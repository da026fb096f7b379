// SPDX-License-Identifier: Apache-2.0

//! From two rounds of samples to the figures of the page, in one pass.

mod making;
mod users;

use making::Making;
use nyala_cluster::health::Probe;
use nyala_metrics::catalog::Source;
use nyala_mon::Round;
use nyala_mon::logic::series::{Key, Kind};
use nyala_web::{Figures, ServiceFigures};
use nyala_wire::NodeId;
use std::collections::BTreeMap;

/// What was done in a second between two rounds, so far apart, and what is.
pub(crate) fn figures(at_ms: u64, before: &Round, now: &Round, seconds: f64) -> Figures {
    let mut made = Making::new(at_ms);
    let empty = Vec::new();
    for (instance, answered) in now {
        if instance.service != Source::Mount {
            let name = instance.name.clone();
            let said = answered.stats.as_ref().map(|stats| Probe::answered(NodeId::default(), stats));
            let service = ServiceFigures { name, failed: answered.failed.clone(), said, ..ServiceFigures::default() };
            made.push(service);
        }
        let earlier: BTreeMap<&Key, i64> = before
            .get(instance)
            .map_or(&empty, |answered| &answered.values)
            .iter()
            .map(|(key, value)| (key, *value))
            .collect();
        for (key, value) in &answered.values {
            let value = match key.kind {
                Kind::Counter => {
                    // Without an earlier one there is no time that it grew in; one that is less than before began anew.
                    let Some(then) = earlier.get(key) else { continue };
                    (if value >= then { value - then } else { *value }) as f64 / seconds.max(0.001)
                }
                _ => *value as f64,
            };
            made.add(instance, key, key.shown(value));
        }
    }
    made.done()
}

#[cfg(test)]
mod tests;
