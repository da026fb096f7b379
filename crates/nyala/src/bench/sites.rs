// SPDX-License-Identifier: Apache-2.0

//! What a command line asks for, and where: finds the cluster, its mount and a local directory.

use super::args::{BackendArg, CommonArgs, DataArgs, MetaArgs};
use crate::cluster::Cluster;
use crate::exit::Failure;
use crate::mount::record::MountRecord;
use crate::mount::table;
use crate::role::block_on;
use crate::up::DEFAULT_DIR;
use nyala_bench::measure::cpu;
use nyala_bench::plan::Workload;
use nyala_bench::session::{Job, Sites};
use nyala_client::ClientConfig;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `nyala bench meta` is to do, and where.
pub fn meta(args: &MetaArgs) -> Result<Job, Failure> {
    job("meta", &args.common, args.workloads(), false)
}

/// What `nyala bench data` is to do, and where.
pub fn data(args: &DataArgs) -> Result<Job, Failure> {
    job("data", &args.common, args.workloads()?, !args.keep_caches)
}

fn job(bench: &'static str, args: &CommonArgs, workloads: Vec<Workload>, cold: bool) -> Result<Job, Failure> {
    Ok(Job {
        bench,
        sites: find(args)?,
        workloads,
        tasks: args.tasks,
        threads: args.threads,
        limit: args.limit(),
        verify: args.verify,
        seed: args.seed,
        cold,
        ended: Default::default(),
    })
}

/// Finds the places, as far as they are wanted. An unreachable cluster is said at once.
fn find(args: &CommonArgs) -> Result<Sites, Failure> {
    let cluster = args.cluster.find()?;
    let mut notes = Vec::new();
    let mount = if args.wants(BackendArg::Mount) { find_mount(args, &cluster, &mut notes)? } else { None };
    let local = args.wants(BackendArg::Local).then(|| local_dir(args));
    if let Some(missing) = local.as_ref().filter(|dir| !dir.is_dir()) {
        return Err(Failure::usage(format!("--local {}: there is no such directory", missing.display())));
    }
    block_on(cluster.map())?;
    let config = config(&cluster, "nyala bench");
    Ok(Sites { config, native: args.wants(BackendArg::Native), mount, local, notes })
}

/// How the benchmark's own client connects.
pub fn config(cluster: &Cluster, name: &str) -> ClientConfig {
    let mut config = ClientConfig::new(cluster.mgmt.clone(), cluster.secret.clone(), name);
    config.retry_timeout = Duration::from_secs(60);
    config.encrypt = cluster.encrypt;
    config
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
    if args.only.contains(&BackendArg::Mount) {
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
    let cluster_dir = args.cluster.dir.clone().unwrap_or_else(|| DEFAULT_DIR.into());
    let beside = cluster_dir.parent().filter(|parent| parent.is_dir()).map(Path::to_path_buf);
    args.local.clone().or(beside).unwrap_or_else(|| "/var/tmp".into())
}
