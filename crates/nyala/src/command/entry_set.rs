// SPDX-License-Identifier: Apache-2.0

//! `nyala entry set DIR…`: what directories give to new files. Files that exist keep their layout.

use super::entry_info::inode_at;
use super::words::word;
use crate::cluster::{ClusterArgs, Place, Way, through_mount};
use crate::config::PatternArg;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, json, lines, print};
use crate::role::block_on;
use crate::units::Size;
use nyala_client::Client;
use nyala_wire::map::{ClusterMap, TargetKind};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{Pattern, PoolId, StripePattern};
use serde::Serialize;
use std::path::PathBuf;

/// Flags of `nyala entry set`.
#[derive(Clone, Debug, clap::Args)]
pub struct EntrySetArgs {
    /// Directories on a mount
    #[arg(required = true, value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// Chunk size: a power of two from 64k to 1g
    #[arg(long, value_name = "SIZE")]
    pub chunk_size: Option<Size>,
    /// Number of targets, or of mirror groups, 1 to 1024
    #[arg(long, value_name = "N")]
    pub num_targets: Option<u16>,
    /// How data is spread
    #[arg(long, value_enum)]
    pub pattern: Option<PatternArg>,
    /// Storage pool
    #[arg(long, value_name = "ID")]
    pub pool: Option<PoolId>,
    /// Largest content kept with the inode, at most 64k; 0 turns it off
    #[arg(long, value_name = "SIZE")]
    pub inline_size: Option<Size>,
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
}

impl EntrySetArgs {
    fn changes(&self, old: StripePattern) -> Result<StripePattern, Failure> {
        // What does not fit into 32 bits is refused by the same sentence as what is merely too large.
        let bytes = |size: Option<Size>, old: u32| size.map_or(old, |s| u32::try_from(s.0).unwrap_or(u32::MAX));
        let new = StripePattern {
            pattern: self.pattern.map_or(old.pattern, Pattern::from),
            chunk_bytes: bytes(self.chunk_size, old.chunk_bytes),
            num_targets: self.num_targets.unwrap_or(old.num_targets),
            pool: self.pool.unwrap_or(old.pool),
            inline_bytes: bytes(self.inline_size, old.inline_bytes),
        };
        new.check()?;
        Ok(new)
    }

    /// The new pattern, if the entry can have one and the cluster has room for it.
    fn wanted(&self, info: &EntryInfo, map: &ClusterMap) -> Result<StripePattern, Failure> {
        let old = info.pattern.ok_or_else(|| {
            Failure::failed(
                "it is not a directory; patterns are set on directories and count for files made there later",
            )
        })?;
        let new = self.changes(old)?;
        let groups = map.groups.iter().filter(|group| group.kind == TargetKind::Storage).count();
        if new.pattern == Pattern::Mirror && groups == 0 {
            return Err(Failure::failed("there are no mirror groups yet; make some first: nyala mirror create --auto"));
        }
        let there = match new.pattern {
            Pattern::Mirror => groups,
            Pattern::Raid0 => {
                map.targets.iter().filter(|t| t.kind == TargetKind::Storage && t.pool == new.pool).count()
            }
        };
        match self.num_targets {
            Some(wanted) if usize::from(wanted) > there => Err(Failure::failed(format!(
                "--num-targets {wanted}: there are only {there} {} in pool {}",
                unit(new.pattern),
                new.pool
            ))),
            _ => Ok(new),
        }
    }

    /// Whether nothing is asked for.
    pub fn sets_nothing(&self) -> bool {
        self.chunk_size.is_none()
            && self.num_targets.is_none()
            && self.pattern.is_none()
            && self.pool.is_none()
            && self.inline_size.is_none()
    }

    fn report(&self, new: &StripePattern) -> String {
        let mut lines = Vec::new();
        lines.extend(self.chunk_size.map(|_| format!("New chunksize: {}", new.chunk_bytes)));
        lines.extend(self.num_targets.map(|_| format!("New number of {}: {}", unit(new.pattern), new.num_targets)));
        lines.extend(self.pattern.map(|_| format!("New pattern: {}", word(&new.pattern))));
        lines.extend(self.pool.map(|_| format!("New storage pool: {}", new.pool)));
        lines.extend(self.inline_size.map(|_| format!("New inline size: {}", new.inline_bytes)));
        lines.join("\n") + "\n"
    }
}

/// What a stripe of a pattern lies on.
pub(super) fn unit(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Raid0 => "storage targets",
        Pattern::Mirror => "mirror groups",
    }
}

/// Sets patterns.
pub fn run(args: EntrySetArgs, output: Output) -> Outcome {
    if args.sets_nothing() {
        return Err(Failure::usage(
            "nothing to set; give --chunk-size, --num-targets, --pattern, --pool or --inline-size",
        ));
    }
    let mut done = Vec::new();
    let mut text = String::new();
    block_on(async {
        for path in &args.paths {
            let way = args.cluster.find_for(path)?;
            let at = match &way {
                Way::Cluster(_, Place::Mounted(path, mountpoint)) | Way::Mount { path, mountpoint, .. } => {
                    let inside = path.strip_prefix(mountpoint).unwrap_or(path);
                    format!("\nPath: /{}\nMount: {}\n", inside.display(), mountpoint.display())
                }
                Way::Cluster(_, Place::InRoot(path)) => format!("\nPath: {}\n", path.display()),
            };
            let new = set(&args, way).await.map_err(|error| error.context(path.display()))?;
            text += &(args.report(&new) + &at);
            done.push(Set {
                path: path.clone(),
                pattern: new.pattern,
                chunk_size: new.chunk_bytes,
                num_targets: new.num_targets,
                pool: new.pool,
                inline_size: new.inline_bytes,
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
        Way::Cluster(cluster, place) => {
            let client = cluster.client().await?;
            let set = set_at(args, &client, &place).await;
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

async fn set_at(args: &EntrySetArgs, client: &Client, place: &Place) -> Result<StripePattern, Failure> {
    let inode = inode_at(client, place).await?;
    let new = args.wanted(&client.entry_info(inode).await?, &client.map())?;
    client.set_pattern(inode, new).await?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> EntrySetArgs {
        EntrySetArgs {
            paths: vec!["/m".into()],
            chunk_size: None,
            num_targets: None,
            pattern: None,
            pool: None,
            inline_size: None,
            cluster: ClusterArgs::default(),
        }
    }

    #[test]
    fn only_what_is_named_changes() {
        let old = StripePattern::default();
        let args = EntrySetArgs { chunk_size: Some(Size(1 << 20)), num_targets: Some(2), ..args() };
        let new = args.changes(old).unwrap();
        assert_eq!(new, StripePattern { chunk_bytes: 1 << 20, num_targets: 2, ..old });
        assert_eq!(args.report(&new), "New chunksize: 1048576\nNew number of storage targets: 2\n");
        let mirror = EntrySetArgs { pattern: Some(PatternArg::Mirror), ..args };
        let new = mirror.changes(old).unwrap();
        assert_eq!(new.pattern, Pattern::Mirror);
        assert!(mirror.report(&new).ends_with("New number of mirror groups: 2\nNew pattern: mirror\n"));
    }

    #[test]
    fn the_servers_sentences_refuse() {
        let refused = |args: EntrySetArgs| args.changes(StripePattern::default()).unwrap_err().message;
        assert!(refused(EntrySetArgs { chunk_size: Some(Size(100_000)), ..args() }).contains("power of two"));
        assert!(refused(EntrySetArgs { chunk_size: Some(Size(1 << 33)), ..args() }).contains("power of two"));
        assert!(refused(EntrySetArgs { num_targets: Some(0), ..args() }).contains("1 to 1024"));
        assert!(refused(EntrySetArgs { inline_size: Some(Size(1 << 20)), ..args() }).contains("64 KiB"));
        assert_eq!(run(args(), Output::Table).unwrap_err().exit, crate::exit::Exit::Usage);
    }
}
