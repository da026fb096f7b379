// SPDX-License-Identifier: Apache-2.0

//! Targets with damage that no scrub could repair, and targets that are not scrubbed.

use super::finding::{About, Finding, Severity};
use super::probe::Probe;
use crate::word::Word;
use nyala_wire::map::ClusterMap;

pub(super) fn check(map: &ClusterMap, probes: &[Probe], all: &mut Vec<Finding>) {
    let mut scrubs: Vec<_> = probes.iter().flat_map(|probe| &probe.scrubs).collect();
    scrubs.sort_by_key(|scrub| scrub.target);
    for scrub in scrubs {
        let id = scrub.target;
        let Some(target) = map.target(id) else { continue };
        let name = format!("{} target {id} ({})", target.kind.word(), target.alias);
        let mut found = |what, advice| {
            all.push(Finding { severity: Severity::Degraded, about: About::Target(id), what, advice });
        };
        if scrub.damaged_bytes > 0 {
            let advice = format!(
                "`nyala scrub status {id}` lists files and offsets: restore those that are not mirrored from a backup, \
                 start the other members of the groups of those that are, and look at the disk."
            );
            found(format!("{name} has {} damaged bytes that could not be repaired", scrub.damaged_bytes), advice);
        }
        if scrub.late {
            let advice = format!(
                "`nyala scrub status {id}` says how far it is: raise `scrub-rate` of its service or set a longer \
                 `scrub-interval`, or read it now with `nyala scrub {id}`, which does not count here."
            );
            found(format!("{name} was not scrubbed as a whole for three intervals"), advice);
        }
    }
}
