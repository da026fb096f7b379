// SPDX-License-Identifier: Apache-2.0

//! `nyala entry set DIR…`: what directories give to new files. Files that exist keep their layout.

use super::entry_asker::inode_at;
use super::entry_pattern::PatternArgs;
use crate::cluster::{ClusterArgs, PathLocation, Way, through_mount};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, json, lines, print};
use crate::role::block_on;
use nyala_client::Client;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErasureCode, Pattern, PoolId, StripePattern};
use serde::Serialize;
use std::path::PathBuf;

/// Flags of `nyala entry set`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntrySetArgs {
    /// Directories on a mount
    #[arg(required = true, value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// What to change.
    #[command(flatten)]
    pub stripe: PatternArgs,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

#[derive(Serialize)]
struct Set {
    path: PathBuf,
    pattern: Pattern,
    chunk_size: u32,
    num_targets: u16,
    pool: PoolId,
    inline_size: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErasureCode>,
}

impl EntrySetArgs {
    /// The new pattern, if the entry can have one and the cluster has room for it.
    fn wanted(&self, info: &EntryInfo, map: &ClusterMap) -> Result<StripePattern, Failure> {
        let old = info.pattern.ok_or_else(|| {
            Failure::failed(
                "it is not a directory; patterns are set on directories and count for files made there later",
            )
        })?;
        self.stripe.wanted(old, map)
    }
}

/// Sets patterns.
pub fn run(args: EntrySetArgs, output: Output) -> Outcome {
    if args.stripe.sets_nothing() {
        return Err(Failure::usage(
            "nothing to set; give --chunk-size, --num-targets, --pattern, --data and --parity, --pool or --inline-size",
        ));
    }
    let mut done = Vec::new();
    let mut text = String::new();
    block_on(async {
        for path in &args.paths {
            let way = args.cluster.find_for(path)?;
            let at = match &way {
                Way::Cluster(_, PathLocation::Mounted(path, mountpoint)) | Way::Mount { path, mountpoint, .. } => {
                    let inside = path.strip_prefix(mountpoint).unwrap_or(path);
                    format!("\nPath: /{}\nMount: {}\n", inside.display(), mountpoint.display())
                }
                Way::Cluster(_, PathLocation::InRoot(path)) => format!("\nPath: {}\n", path.display()),
            };
            let new = set(&args, way).await.map_err(|error| error.context(path.display()))?;
            text += &(args.stripe.report(&new) + &at);
            done.push(Set {
                path: path.clone(),
                pattern: new.pattern,
                chunk_size: new.chunk_bytes,
                num_targets: new.num_targets,
                pool: new.pool,
                inline_size: new.inline_bytes,
                code: new.code,
            });
        }
        Ok(())
    })?;
    match (output, done.as_slice()) {
        (Output::Table, _) => print(&text),
        (Output::Json, [one]) => print(&json(one)?),
        (Output::Json, all) => print(&json(&all)?),
        (Output::Ndjson, all) => print(&lines(&all)?),
    }
    .map(|_| Exit::Ok)
}

/// Sets what one directory gives to new files.
pub async fn set(args: &EntrySetArgs, way: Way) -> Result<StripePattern, Failure> {
    match way {
        Way::Cluster(cluster, location) => {
            let client = cluster.client().await?;
            let set = set_at(args, &client, &location).await;
            // What it did is done; a failing goodbye changes nothing.
            let _ = client.shutdown().await;
            set
        }
        Way::Mount { path, why, .. } => {
            let (info, map) = through_mount::look(&path, &why)?;
            let new = args.wanted(&info, &map)?;
            through_mount::set_pattern(&path, &new, &why).map(|()| new)
        }
    }
}

async fn set_at(args: &EntrySetArgs, client: &Client, location: &PathLocation) -> Result<StripePattern, Failure> {
    let inode = inode_at(client, location).await?;
    let new = args.wanted(&client.entry_info(inode).await?, &client.map())?;
    client.set_pattern(inode, new).await?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_set_is_said() {
        let args =
            EntrySetArgs { paths: vec!["/m".into()], stripe: PatternArgs::default(), cluster: ClusterArgs::default() };
        assert_eq!(run(args, Output::Table).unwrap_err().exit, Exit::Usage);
    }
}
