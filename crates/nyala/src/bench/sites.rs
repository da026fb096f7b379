// SPDX-License-Identifier: Apache-2.0

//! Finds the cluster, its mount and a local directory, and names the benchmark's own directories there.

use super::args::CommonArgs;
use super::measure::cpu;
use super::report::Place;
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::mount::record::MountRecord;
use crate::mount::table;
use crate::up::DEFAULT_DIR;
use std::path::{Path, PathBuf};

/// Where to work.
#[derive(Debug)]
pub struct Sites {
    /// The cluster.
    pub cluster: Cluster,
    /// A mount and its daemon.
    pub mount: Option<(PathBuf, Option<i32>)>,
    /// A local directory.
    pub local: Option<PathBuf>,
    /// What is missing, for the reader of the report.
    pub notes: Vec<String>,
}

/// Name of the benchmark's directory of a place. Unlike any other run's.
pub fn own_name(place: Place) -> String {
    format!(".nyala-bench-{}-{}", place.name(), std::process::id())
}

impl Sites {
    /// Finds them, as far as they are wanted.
    pub fn find(args: &CommonArgs) -> Result<Sites, Failure> {
        let cluster = args.cluster.find()?;
        let mut notes = Vec::new();
        let mount = if args.wants(Place::Mount) { find_mount(args, &cluster, &mut notes)? } else { None };
        let local = args.wants(Place::Local).then(|| local_dir(args));
        if let Some(missing) = local.as_ref().filter(|dir| !dir.is_dir()) {
            return Err(Failure::usage(format!("--local {}: there is no such directory", missing.display())));
        }
        Ok(Sites { cluster, mount, local, notes })
    }
}

fn find_mount(
    args: &CommonArgs,
    cluster: &Cluster,
    notes: &mut Vec<String>,
) -> Result<Option<(PathBuf, Option<i32>)>, Failure> {
    let mounts = table::all()?;
    if let Some(path) = &args.mount {
        let path = table::absolute(path)?;
        let Some(mounted) = table::holding(&mounts, &path) else {
            return Err(Failure::usage(format!("--mount {}: there is no nyala mount", path.display())));
        };
        let daemon = daemon_of(&mounted.mountpoint)?;
        if daemon.is_none() {
            notes.push("the mount's daemon is not known, so neither is its CPU time".to_owned());
        }
        return Ok(Some((path, daemon)));
    }
    for mounted in mounts.iter().filter(|mounted| mounted.fs_type == table::FS_TYPE) {
        // A record that is damaged or missing only means that this mount is not ours to find.
        if let Ok(Some(record)) = MountRecord::load(&mounted.mountpoint)
            && record.mgmt.iter().any(|address| cluster.mgmt.contains(address))
        {
            return Ok(Some((mounted.mountpoint.clone(), daemon_of(&mounted.mountpoint)?)));
        }
    }
    if args.only.contains(&Place::Mount) {
        return Err(Failure::usage("no mount of this cluster is found; give --mount DIR"));
    }
    notes.push("no mount of this cluster is found; give --mount DIR to measure one".to_owned());
    Ok(None)
}

fn daemon_of(mountpoint: &Path) -> Result<Option<i32>, Failure> {
    let process = MountRecord::load(mountpoint)?.and_then(|record| record.process);
    Ok(process.map(|process| process.pid).filter(|&pid| cpu::process_us(pid).is_some()))
}

/// Next to the cluster's directory, so that it is on the same disk.
fn local_dir(args: &CommonArgs) -> PathBuf {
    let home = args.cluster.dir.clone().unwrap_or_else(|| DEFAULT_DIR.into());
    let beside = home.parent().filter(|parent| parent.is_dir()).map(Path::to_path_buf);
    args.local.clone().or(beside).unwrap_or_else(|| "/var/tmp".into())
}
