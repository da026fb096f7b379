// SPDX-License-Identifier: Apache-2.0

//! Which targets of a service have spares that others of it have too. Pure.

use crate::config::TargetSpec;
use nyala_netdrives::DriveLocation;

/// Each target of a service knows whether others have its spares too.
pub(super) fn note_shared(targets: &mut [TargetSpec]) {
    let sets = || targets.iter().filter_map(|target| target.set.as_ref());
    let named: Vec<DriveLocation> = sets().flat_map(|set| set.spares.iter().chain(&set.drives)).cloned().collect();
    let count = |spare: &DriveLocation| named.iter().filter(|location| *location == spare).count();
    let shared: Vec<bool> = targets
        .iter()
        .map(|target| target.set.iter().flat_map(|set| &set.spares).any(|spare| count(spare) > 1))
        .collect();
    for (target, shared) in targets.iter_mut().zip(shared) {
        target.set.iter_mut().for_each(|set| set.spares_shared = shared);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set_spec::SetSpec;

    #[test]
    fn a_spare_that_others_name_is_shared() {
        let target = |drives: &[&str], spares: &[&str]| {
            let named = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
            let set = SetSpec { drives: named(drives), spares: named(spares), ..SetSpec::default() };
            TargetSpec { set: Some(set), ..TargetSpec::default() }
        };
        let mut targets = [
            target(&["/a"], &["/s", "/own"]),
            target(&["/b"], &["net://h:1/d", "/s"]),
            target(&["/c", "/e"], &["/mine"]),
            target(&["/d"], &["/e"]),
            TargetSpec::default(),
        ];
        note_shared(&mut targets);
        let shared: Vec<bool> = targets.iter().filter_map(|target| Some(target.set.as_ref()?.spares_shared)).collect();
        assert_eq!(shared, [true, true, false, true]);
    }
}
