// SPDX-License-Identifier: Apache-2.0

//! Which cluster an old command is about: `--mount=PATH`, `--cfgFile=FILE` in the old form, or what Nyala's own commands would ask.

use super::command_line::CommandLine;
use super::config_file::ConfigFile;
use crate::cluster::{Cluster, ClusterArgs, Way};
use crate::config::DEFAULT_SECRET;
use crate::exit::Failure;
use clap::Parser;
use nyala_wire::map::{ClusterMap, Node, Target, TargetKind};
use nyala_wire::{NodeId, TargetId};
use std::path::{Path, PathBuf};

/// Flags that are not given here, but may stand in variables.
#[derive(Parser)]
struct Variables {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// As for Nyala's own commands.
pub fn arguments(line: &CommandLine) -> Result<ClusterArgs, Failure> {
    let mut args = Variables::try_parse_from(["nyala"]).map_err(|error| Failure::usage(error.to_string()))?.cluster;
    if let Some(file) = line.value("cfgFile").or_else(|| line.value("cfgfile")) {
        let old = ConfigFile::read(Path::new(file))?;
        let host =
            old.value("sysMgmtdHost").ok_or_else(|| Failure::config(format!("{file}: sysMgmtdHost is not set")))?;
        args.mgmt = Some(host.parse().map_err(|error| Failure::config(format!("{file}: sysMgmtdHost: {error}")))?);
        args.secret = Some(old.value("connAuthFile").map_or_else(|| DEFAULT_SECRET.into(), PathBuf::from));
    }
    Ok(args)
}

/// The cluster.
pub fn find(line: &CommandLine) -> Result<Cluster, Failure> {
    let args = arguments(line)?;
    match line.value("mount") {
        Some(mount) => match args.find_for(Path::new(mount))? {
            Way::Cluster(cluster, _) => Ok(cluster),
            Way::Mount { why, .. } => Err(why),
        },
        None => args.find(),
    }
}

/// `name [ID: n]`, as every list has it.
pub fn title(node: &Node) -> String {
    format!("{} [ID: {}]", node.alias, node.id)
}

/// Where a target is: `101 @ name [ID: n]`; a metadata server is its node, `name [ID: n]`.
pub fn target_text(map: &ClusterMap, id: TargetId) -> String {
    let is_meta = map.target(id).is_some_and(|target| target.kind == TargetKind::Meta);
    match map.node_of(id) {
        Some(node) if is_meta => title(node),
        Some(node) => format!("{id} @ {}", title(node)),
        None => id.to_string(),
    }
}

/// The number that stands for a target: a metadata server has its node's, a storage target its own.
pub fn number(target: &Target) -> String {
    match target.kind {
        TargetKind::Meta => target.node.to_string(),
        TargetKind::Storage => target.id.to_string(),
    }
}

/// What a number names: a metadata server by its node, a storage target by itself.
pub fn numbered(map: &ClusterMap, kind: TargetKind, number: u16) -> Result<TargetId, Failure> {
    let named = |target: &&Target| match kind {
        TargetKind::Meta => target.node == NodeId(number.into()),
        TargetKind::Storage => target.id == TargetId(number),
    };
    let found = map.targets_of(kind).find(named);
    let (what, list) = match kind {
        TargetKind::Meta => ("metadata node", "--listnodes --nodetype=meta"),
        TargetKind::Storage => ("storage target", "--listtargets"),
    };
    let unknown = || Failure::failed(format!("There is no {what} {number}; see beegfs-ctl {list}"));
    found.map(|target| target.id).ok_or_else(unknown)
}

/// What the numbers of a kind are called.
pub fn numbers(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::Meta => "node",
        TargetKind::Storage => "target",
    }
}

/// `--nodetype=meta|storage`.
pub fn kind(line: &CommandLine) -> Result<TargetKind, Failure> {
    match line.need("nodetype", "meta|storage")?.to_ascii_lowercase().as_str() {
        "meta" | "metadata" => Ok(TargetKind::Meta),
        "storage" => Ok(TargetKind::Storage),
        other => Err(Failure::usage(format!("Invalid or missing node type: {other}; possible: meta, storage"))),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two metadata servers on nodes 11 and 12, whose targets are 1 and 2, in group 1.
    pub(crate) fn mirrored_metadata() -> ClusterMap {
        let mut map = crate::command::mirror_list::tests::mirrored();
        map.nodes.iter_mut().zip([11, 12]).for_each(|(node, id)| {
            node.id = NodeId(id);
            node.alias = format!("meta{id}");
            node.role = nyala_wire::map::Role::Meta;
        });
        map.targets.iter_mut().zip([1, 2]).for_each(|(target, id)| {
            target.id = TargetId(id);
            target.node = NodeId(u32::from(id) + 10);
            target.kind = TargetKind::Meta;
        });
        map.groups[0].kind = TargetKind::Meta;
        map.groups[0].members = vec![TargetId(1), TargetId(2)];
        map
    }

    #[test]
    fn metadata_servers_have_their_nodes_numbers_and_storage_targets_their_own() {
        let map = mirrored_metadata();
        assert_eq!(numbered(&map, TargetKind::Meta, 12), Ok(TargetId(2)));
        assert!(numbered(&map, TargetKind::Meta, 2).unwrap_err().message.contains("no metadata node 2"));
        assert!(numbered(&map, TargetKind::Storage, 2).unwrap_err().message.contains("no storage target 2"));
        assert_eq!(
            (number(&map.targets[1]).as_str(), target_text(&map, TargetId(2)).as_str()),
            ("12", "meta12 [ID: 12]")
        );
        let map = crate::command::mirror_list::tests::mirrored();
        assert_eq!(numbered(&map, TargetKind::Storage, 201), Ok(TargetId(201)));
        assert_eq!(number(&map.targets[1]), "201");
        assert_eq!(target_text(&map, TargetId(201)), "201 @ storage2 [ID: 2]");
    }
}
