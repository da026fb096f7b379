// SPDX-License-Identifier: Apache-2.0

//! Which storage targets a command is about.

use crate::exit::Failure;
use nyala_wire::TargetId;
use nyala_wire::map::{ClusterMap, TargetKind};

/// The targets that are named, which must be there, or all storage targets.
pub fn chosen(map: &ClusterMap, named: &[TargetId]) -> Result<Vec<TargetId>, Failure> {
    let all: Vec<TargetId> = map.targets_of(TargetKind::Storage).map(|target| target.id).collect();
    if let Some(missing) = named.iter().find(|target| !all.contains(target)) {
        return Err(Failure::failed(format!("there is no storage target {missing}; see nyala target list")));
    }
    Ok(if named.is_empty() { all } else { named.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn targets_are_named_or_all() {
        let map = mirrored();
        assert_eq!(chosen(&map, &[]).unwrap(), [TargetId(101), TargetId(201)]);
        assert!(chosen(&map, &[TargetId(102)]).unwrap_err().message.contains("target list"));
    }
}
