// SPDX-License-Identifier: Apache-2.0

//! Metrics of the drive sets that targets lie on. Failure model: none of its own.

use super::target::Target;
use crate::drive_set::SetFigures;
use nyala_metrics::catalog::storage as metrics;
use nyala_metrics::{Metric, Page};
use nyala_wire::TargetId;

type Value = fn(&SetFigures) -> u64;

const PER_SET: [(&Metric, Value); 6] = [
    (&metrics::SET_STOPPED, |set| set.stopped.into()),
    (&metrics::SET_SPARES, |set| set.spares),
    (&metrics::SET_HEALED, |set| set.healed),
    (&metrics::SET_LOST, |set| set.lost),
    (&metrics::SET_REBUILT, |set| set.rebuilt_bytes),
    (&metrics::SET_LATE, |set| set.late),
];

type Values = fn(&SetFigures) -> &[u64];

const PER_DRIVE: [(&Metric, Values); 2] =
    [(&metrics::SET_ERRORS, |set| &set.errors), (&metrics::SET_MISSED, |set| &set.missed)];

/// Writes those of these targets; of one in a directory there are none.
pub(super) fn write(page: &mut Page, targets: &[(TargetId, &Target)]) {
    let sets: Vec<(TargetId, SetFigures)> =
        targets.iter().filter_map(|(id, target)| Some((*id, target.upkeep()?.figures()))).collect();
    for (metric, value) in PER_SET {
        let mut family = page.family(metric);
        sets.iter().for_each(|(id, set)| family.value(&[id], value(set)));
    }
    let mut members = page.family(&metrics::SET_MEMBERS);
    for (id, set) in &sets {
        set.states.iter().for_each(|(state, count)| members.value(&[id, state], *count));
    }
    for (metric, values) in PER_DRIVE {
        let mut family = page.family(metric);
        for (id, set) in &sets {
            values(set).iter().enumerate().for_each(|(member, value)| family.value(&[id, &member], *value));
        }
    }
}
