// SPDX-License-Identifier: Apache-2.0

//! Sets by name: that of a set is the alias of its target, or the target's number.
//!
//! **Failure model.** As of `nyala raid`: a set is asked through its service, which may be away; that is said.

use crate::command::raid::ask::{Sets, TargetSet};
use crate::compat::{cluster, command_line::CommandLine};
use crate::exit::Failure;
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::raid::RaidOrder;

/// The cluster that Nyala's own commands would ask.
pub fn find() -> Result<crate::cluster::Cluster, Failure> {
    cluster::find(&CommandLine::default())
}

/// The target of a set.
pub fn target(map: &ClusterMap, name: &str) -> Result<TargetId, Failure> {
    let number = name.parse::<TargetId>().ok();
    let is = |target: &&nyala_wire::map::Target| target.alias == name || Some(target.id) == number;
    let unknown = || {
        Failure::failed(format!(
            "There is no RAID {name}: a set has the alias or the number of its storage target; see xicli raid show"
        ))
    };
    map.targets_of(TargetKind::Storage).find(is).map(|target| target.id).ok_or_else(unknown)
}

/// Has the set with a name do something.
pub async fn order(name: &str, order: RaidOrder) -> Result<TargetSet, Failure> {
    let cluster = find()?;
    let target = target(&cluster.map().await?, name)?;
    Sets::of(&cluster).await?.order(target, order).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_goes_by_its_targets_alias_or_number() {
        let mut map = crate::command::mirror_list::tests::mirrored();
        map.targets
            .iter_mut()
            .filter(|target| target.id == TargetId(201))
            .for_each(|target| target.alias = "era1".into());
        assert_eq!(target(&map, "era1"), Ok(TargetId(201)));
        assert_eq!(target(&map, "201"), Ok(TargetId(201)));
        assert!(target(&map, "era2").unwrap_err().message.contains("xicli raid show"));
    }
}
