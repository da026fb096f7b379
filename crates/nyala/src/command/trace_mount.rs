// SPDX-License-Identifier: Apache-2.0

//! `nyala trace PATH --mount`: where the time of requests goes that programs have the kernel send to a mount.
//!
//! **Failure model.** The mount may be of an older version, or another user's: that is said. It stops following by itself if this command is killed. What a
//! mount or a service has forgotten meanwhile is missing, or stands there without parts.

use super::trace_parts::Followed;
use super::trace_records::put_together;
use super::trace_table::Operation;
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::units::Span;
use nyala_fuse::adapter::traces::{TRACE, TRACES};
use nyala_wire::codec;
use nyala_wire::trace::MountTrace;
use rustix::fs::XattrFlags;
use rustix::io::Errno;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

/// The kernel takes no longer value.
const MOST: usize = 65_536;
/// Longest time to look.
const LONGEST: Duration = Duration::from_secs(600);

/// Flags about a mount.
#[derive(Clone, Debug, clap::Args)]
pub struct FollowArgs {
    /// Follow what programs do: of the mount point everything, of a directory what is done with names in it, of a file what is done with it
    #[arg(long)]
    pub mount: bool,
    /// Look for so long
    #[arg(long = "for", value_name = "TIME", default_value = "10s", requires = "mount")]
    time: Span,
    /// Follow one request in so many
    #[arg(long, value_name = "N", default_value = "1", requires = "mount")]
    every: NonZeroU32,
    /// Show only this operation, by its name in the kernel: create, write, fsync, …
    #[arg(long, value_name = "NAME", requires = "mount")]
    operation: Option<String>,
}

impl FollowArgs {
    /// Looks for a while; all of each operation.
    pub async fn follow(&self, cluster: &Cluster, path: &Path) -> Result<Vec<Vec<Operation>>, Failure> {
        let time = self.time.0;
        if time > LONGEST {
            return Err(Failure::usage("--for is 10m at most"));
        }
        let map = cluster.map().await?;
        // A second more: what is under way at the end is still followed.
        ask(path, &format!("{} {}", self.every, time.as_secs() + 1))?;
        tokio::time::sleep(time).await;
        ask(path, "0 0")?;
        let mut value = vec![0; MOST];
        let len = rustix::fs::lgetxattr(path, TRACES, &mut value[..]).map_err(refusal)?;
        let mut traces: Vec<MountTrace> = codec::decode(&value[..len])?;
        traces.retain(|trace| self.operation.as_ref().is_none_or(|name| *name == trace.operation));
        let followed = traces.into_iter().rev().map(|trace| (trace.trace, Followed::from(trace)));
        Ok(put_together(cluster, &map, followed).await)
    }
}

fn ask(path: &Path, value: &str) -> Result<(), Failure> {
    rustix::fs::lsetxattr(path, TRACE, value.as_bytes(), XattrFlags::empty()).map_err(refusal)
}

fn refusal(error: Errno) -> Failure {
    match error {
        Errno::PERM | Errno::ACCESS => Failure::failed("only root may follow what programs do through a mount"),
        Errno::NOTSUP | Errno::NODATA => Failure::failed("this mount is of a version that cannot be followed"),
        other => Failure::failed(std::io::Error::from(other).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_mount_of_ours_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let said = ask(dir.path(), "1 1").unwrap_err().message;
        assert!(said.contains("cannot be followed"), "{said}");
        assert!(refusal(Errno::PERM).message.contains("root") && ask(&dir.path().join("none"), "1 1").is_err());
    }
}
