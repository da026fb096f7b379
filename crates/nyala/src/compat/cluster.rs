// SPDX-License-Identifier: Apache-2.0

//! Which cluster an old command is about: `--mount=PATH`, `--cfgFile=FILE` in the old form, or what Nyala's own commands would ask.

use super::config_file::ConfigFile;
use super::words::Words;
use crate::cluster::{Cluster, ClusterArgs, Way};
use crate::config::DEFAULT_SECRET;
use crate::exit::Failure;
use clap::Parser;
use nyala_wire::map::{ClusterMap, Node, TargetKind};
use std::path::{Path, PathBuf};

/// Flags that are not given here, but may stand in variables.
#[derive(Parser)]
struct Variables {
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// As for Nyala's own commands.
pub fn arguments(words: &Words) -> Result<ClusterArgs, Failure> {
    let mut args = Variables::try_parse_from(["nyala"]).map_err(|error| Failure::usage(error.to_string()))?.cluster;
    if let Some(file) = words.value("cfgFile").or_else(|| words.value("cfgfile")) {
        let old = ConfigFile::read(Path::new(file))?;
        let host =
            old.value("sysMgmtdHost").ok_or_else(|| Failure::config(format!("{file}: sysMgmtdHost is not set")))?;
        args.mgmt = Some(host.parse().map_err(|error| Failure::config(format!("{file}: sysMgmtdHost: {error}")))?);
        args.secret = Some(old.value("connAuthFile").map_or_else(|| DEFAULT_SECRET.into(), PathBuf::from));
    }
    Ok(args)
}

/// The cluster.
pub fn find(words: &Words) -> Result<Cluster, Failure> {
    let args = arguments(words)?;
    match words.value("mount") {
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

/// Where a target is: `101 @ name [ID: n]`.
pub fn place(map: &ClusterMap, id: nyala_wire::TargetId) -> String {
    map.node_of(id).map_or_else(|| id.to_string(), |node| format!("{id} @ {}", title(node)))
}

/// `--nodetype=meta|storage`.
pub fn kind(words: &Words) -> Result<TargetKind, Failure> {
    match words.need("nodetype", "meta|storage")?.to_ascii_lowercase().as_str() {
        "meta" | "metadata" => Ok(TargetKind::Meta),
        "storage" => Ok(TargetKind::Storage),
        other => Err(Failure::usage(format!("Invalid or missing node type: {other}; possible: meta, storage"))),
    }
}
