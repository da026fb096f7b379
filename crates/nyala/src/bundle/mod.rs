// SPDX-License-Identifier: Apache-2.0

//! What a bug report needs, in one archive: of this host settings, logs, kernel, memory and disks; of the cluster what its services say over
//! their connections.
//!
//! **Failure model.** A bundle is made where something is broken: whatever cannot be had is named in it and stops nothing. Its size and its time
//! are bounded. It leaves the house: settings are shown by a list of known keys ([`settings`]), the kernel's files by a list of files, and every
//! byte passes a gate that takes out the secrets of this host ([`scrub`]). Logs and names are as they are otherwise.

mod archive;
mod cluster_state;
mod files;
mod host_ask;
mod hosts;
mod own_files;
pub mod report;
mod scrub;
mod settings;
mod shown_keys;
mod this_host;
mod unpack;

pub use archive::Contents;
pub use cluster_state::DEFAULT_TIME;

use crate::cluster::Cluster;
use crate::command::status;
use crate::command::version::VERSION;
use crate::exit::{Failure, io};
use crate::host::Root;
use crate::role::block_on;
use crate::up::{ClusterDir, Plan};
use archive::Archive;
use files::OwnFiles;
use host_ask::Share;
use own_files::{add_logs, add_settings, add_unhidden, gate};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// What to put into a bundle.
pub struct Options {
    /// The cluster, or why there is none to ask.
    pub cluster: Result<Cluster, Failure>,
    /// The cluster of `nyala up` that it is, if it is one.
    pub cluster_dir: Option<ClusterDir>,
    /// A settings file that names the cluster, if one was given.
    pub settings: Option<PathBuf>,
    /// A file with the cluster's secret, likewise.
    pub secret: Option<PathBuf>,
    /// Newest bytes of each log.
    pub log_bytes: u64,
    /// Other hosts are not asked to report.
    pub this_host_only: bool,
    /// Most bytes of each other host, before they are compressed.
    pub host_bytes: u64,
    /// Most bytes in all, before they are compressed.
    pub most_bytes: u64,
    /// Longest time for asking services.
    pub time: Duration,
}

/// Makes a bundle in a new file, which only its owner may read.
pub fn make(options: &Options, file: &Path) -> Result<Contents, Failure> {
    let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let out = open.map_err(io(format!("cannot make {}", file.display())))?;
    let outcome = fill(options, &Root::at(Path::new("/")), out).and_then(|(out, contents)| {
        out.sync_all()?;
        Ok(contents)
    });
    outcome.map_err(|error| {
        // Half a bundle is of no use; that it could not be written is said in any case.
        let _ = std::fs::remove_file(file);
        io(format!("cannot write {}", file.display()))(error)
    })
}

fn fill<W: Write>(options: &Options, root: &Root, out: W) -> std::io::Result<(W, Contents)> {
    let mut files = match &options.cluster_dir {
        Some(cluster_dir) => OwnFiles::of_cluster_dir(cluster_dir),
        None => OwnFiles::of_host(&root.path("/")),
    };
    files.settings.extend(options.settings.clone());
    files.secrets.extend(options.secret.clone());
    let (scrub, unhidden) = gate(&files);
    let mut archive = Archive::new(out, scrub, options.most_bytes);
    add_unhidden(&mut archive, &unhidden);
    add_version(&mut archive)?;
    let plan = options.cluster_dir.as_ref().and_then(|cluster_dir| cluster_dir.load().ok());
    let asked = block_on(async {
        add_cluster(&mut archive, options, plan.as_ref()).await.map_err(|error| Failure::failed(error.to_string()))
    });
    asked.map_err(|failure| std::io::Error::other(failure.message))?;
    add_settings(&mut archive, &files)?;
    let dirs: Vec<PathBuf> = options.cluster_dir.iter().map(|cluster_dir| cluster_dir.dir().to_owned()).collect();
    this_host::add(&mut archive, root, &dirs)?;
    add_logs(&mut archive, &files, options.log_bytes)?;
    archive.finish()
}

fn add_version<W: Write>(archive: &mut Archive<W>) -> std::io::Result<()> {
    let version = serde_json::json!({ "build": VERSION, "made_s": wall_s() });
    archive.add_json("version.json", &version)
}

/// Seconds since 1970.
fn wall_s() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

async fn add_cluster<W: Write>(
    archive: &mut Archive<W>,
    options: &Options,
    plan: Option<&Plan>,
) -> std::io::Result<()> {
    if let (Some(cluster_dir), Some(plan)) = (&options.cluster_dir, plan) {
        archive.add_json(
            "host/processes.json",
            &status::collect(cluster_dir, plan, options.cluster.as_ref().ok()).await,
        )?;
    }
    match &options.cluster {
        Ok(cluster) => {
            let end = Instant::now() + options.time;
            let Some(map) = cluster_state::add(archive, cluster, end).await? else { return Ok(()) };
            if options.this_host_only {
                return Ok(());
            }
            let share = Share { log_bytes: options.log_bytes, most_bytes: options.host_bytes };
            hosts::add(archive, (cluster, options.cluster_dir.as_ref()), &map, share, end).await
        }
        Err(failure) => {
            archive.missing("cluster", &failure.message);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
