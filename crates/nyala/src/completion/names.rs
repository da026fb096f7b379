// SPDX-License-Identifier: Apache-2.0

//! What arguments may name, of a cluster map. Pure.

use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::{NodeId, TargetId};

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A target.
    Target,
    /// A node.
    Node,
    /// A mirror group.
    Group,
    /// A storage pool.
    Pool,
}

/// Something that an argument may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// What is typed.
    pub value: String,
    /// What it is.
    pub help: String,
}

/// What there is of a kind: ids, and aliases where they will do.
pub fn names(map: &ClusterMap, kind: Kind, aliases: bool) -> Vec<Name> {
    let node = |id: NodeId| map.node(id).map_or_else(|| format!("node {id}"), |node| node.alias.clone());
    let named = |id: String, alias: &str, about: String| {
        let by_id = Name { value: id.clone(), help: format!("{alias}, {about}") };
        let by_alias = Name { value: alias.to_owned(), help: format!("{id}, {about}") };
        [Some(by_id), aliases.then_some(by_alias)].into_iter().flatten()
    };
    match kind {
        Kind::Target => {
            let about = |kind: TargetKind| if kind == TargetKind::Meta { "metadata" } else { "storage" };
            let each = map.targets.iter();
            each.flat_map(|t| named(t.id.to_string(), &t.alias, format!("{} of {}", about(t.kind), node(t.node))))
                .collect()
        }
        Kind::Node => {
            let each = map.nodes.iter();
            each.flat_map(|n| named(n.id.to_string(), &n.alias, format!("{:?}", n.role).to_lowercase())).collect()
        }
        Kind::Pool => {
            let targets = |id| map.targets_of(TargetKind::Storage).filter(|target| target.pool == id).count();
            let each = map.pools.iter();
            each.flat_map(|p| named(p.id.to_string(), &p.alias, format!("targets: {}", targets(p.id)))).collect()
        }
        Kind::Group => {
            let members = |members: &[TargetId]| members.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let each = map.groups.iter();
            each.map(|g| Name { value: g.id.to_string(), help: format!("members: {}", members(&g.members)) }).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::mirror_list::tests::mirrored;

    #[test]
    fn names_are_ids_and_aliases() {
        let map = mirrored();
        let values = |kind, aliases| names(&map, kind, aliases).into_iter().map(|name| name.value).collect::<Vec<_>>();
        let ids = values(Kind::Target, false);
        assert!(ids.contains(&"101".to_owned()) && ids.iter().all(|id| id.parse::<u16>().is_ok()), "{ids:?}");
        assert_eq!(values(Kind::Target, true).len(), 2 * ids.len());
        assert!(values(Kind::Node, true).contains(&map.nodes[0].alias));
        assert_eq!(values(Kind::Group, true), ["1"]);
    }
}
