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
use crate::up::{Home, Plan};
use archive::Archive;
use files::OwnPlaces;
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
    pub home: Option<Home>,
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
pub fn make(wish: &Options, file: &Path) -> Result<Contents, Failure> {
    let open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let out = open.map_err(io(format!("cannot make {}", file.display())))?;
    let outcome = fill(wish, &Root::at(Path::new("/")), out).and_then(|(out, contents)| {
        out.sync_all()?;
        Ok(contents)
    });
    outcome.map_err(|error| {
        // Half a bundle is of no use; that it could not be written is said in any case.
        let _ = std::fs::remove_file(file);
        io(format!("cannot write {}", file.display()))(error)
    })
}

fn fill<W: Write>(wish: &Options, root: &Root, out: W) -> std::io::Result<(W, Contents)> {
    let mut places = match &wish.home {
        Some(home) => OwnPlaces::of_home(home),
        None => OwnPlaces::of_host(&root.path("/")),
    };
    places.settings.extend(wish.settings.clone());
    places.secrets.extend(wish.secret.clone());
    let (scrub, unhidden) = gate(&places);
    let mut archive = Archive::new(out, scrub, wish.most_bytes);
    add_unhidden(&mut archive, &unhidden);
    add_version(&mut archive)?;
    let plan = wish.home.as_ref().and_then(|home| home.load().ok());
    let asked = block_on(async {
        add_cluster(&mut archive, wish, plan.as_ref()).await.map_err(|error| Failure::failed(error.to_string()))
    });
    asked.map_err(|failure| std::io::Error::other(failure.message))?;
    add_settings(&mut archive, &places)?;
    let dirs: Vec<PathBuf> = wish.home.iter().map(|home| home.dir().to_owned()).collect();
    this_host::add(&mut archive, root, &dirs)?;
    add_logs(&mut archive, &places, wish.log_bytes)?;
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

async fn add_cluster<W: Write>(archive: &mut Archive<W>, wish: &Options, plan: Option<&Plan>) -> std::io::Result<()> {
    if let (Some(home), Some(plan)) = (&wish.home, plan) {
        archive.add_json("host/processes.json", &status::collect(home, plan, wish.cluster.as_ref().ok()).await)?;
    }
    match &wish.cluster {
        Ok(cluster) => {
            let end = Instant::now() + wish.time;
            let Some(map) = cluster_state::add(archive, cluster, end).await? else { return Ok(()) };
            if wish.this_host_only {
                return Ok(());
            }
            let share = Share { log_bytes: wish.log_bytes, most_bytes: wish.host_bytes };
            hosts::add(archive, (cluster, wish.home.as_ref()), &map, share, end).await
        }
        Err(failure) => {
            archive.missing("cluster", &failure.message);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
