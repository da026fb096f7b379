// SPDX-License-Identifier: Apache-2.0

//! What a service says of its host when an operator's command asks: settings, logs, kernel and disks, as an archive of their own.
//!
//! **Failure model.** As of a bundle (the parent module): what cannot be had is named in it, and the secrets of this host do not leave. The archive
//! is made in memory, within the bound that is asked for and that the connection layer has.

use super::archive::Archive;
use super::files::OwnFiles;
use super::own_files::{add_logs, add_settings, add_unhidden, gate};
use super::this_host;
use crate::host::Root;
use crate::up::ClusterDir;
use nyala_transport::host_report::{HostReporter, HostReports};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest archive for the list of its contents alone.
pub const LEAST: u64 = 2 << 20;

/// Reports of the host of a service.
struct ServiceHost {
    /// The service's settings file.
    config: Option<PathBuf>,
}

/// A service of this process with this settings file answers for its host.
pub fn offer(config: Option<PathBuf>) {
    HostReports::offer(Arc::new(ServiceHost { config }));
}

/// Names the host of this process, or of a cluster of `nyala up` on it: what others that see the same files say, too.
pub fn host_name(cluster_dir: Option<&ClusterDir>) -> String {
    let text = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let dir = cluster_dir
        .map_or_else(|| PathBuf::from(crate::config::CONFIG_DIR), |cluster_dir| cluster_dir.dir().to_owned());
    // Hosts in namespaces of one machine have files of their own.
    let place = std::fs::metadata(&dir).map_or((0, 0), |found| (found.dev(), found.ino()));
    let (boot, name) = (text("/proc/sys/kernel/random/boot_id"), text("/proc/sys/kernel/hostname"));
    format!("{name}.{boot}.{:x}.{:x}", place.0, place.1)
}

/// The cluster of `nyala up` that a settings file belongs to.
fn cluster_dir_of(config: &Path) -> Option<ClusterDir> {
    let dir = config.parent().filter(|dir| dir.ends_with("conf"))?.parent()?;
    Some(ClusterDir::new(dir)).filter(ClusterDir::exists)
}

impl ServiceHost {
    fn cluster_dir(&self) -> Option<ClusterDir> {
        self.config.as_deref().and_then(cluster_dir_of)
    }
}

impl HostReporter for ServiceHost {
    fn host(&self) -> String {
        host_name(self.cluster_dir().as_ref())
    }

    fn make(&self, log_bytes: u64, most_bytes: u64) -> Result<Vec<u8>, String> {
        let root = Root::at(Path::new("/"));
        let cluster_dir = self.cluster_dir();
        let mut files = match &cluster_dir {
            Some(cluster_dir) => OwnFiles::of_cluster_dir(cluster_dir),
            None => OwnFiles::of_host(&root.path("/")),
        };
        files.settings.extend(self.config.clone().filter(|path| !files.settings.contains(path)));
        let dirs: Vec<PathBuf> = cluster_dir.iter().map(|cluster_dir| cluster_dir.dir().to_owned()).collect();
        let (scrub, unhidden) = gate(&files);
        let mut archive = Archive::new(Vec::new(), scrub, most_bytes.max(LEAST));
        add_unhidden(&mut archive, &unhidden);
        let filled = add_settings(&mut archive, &files)
            .and_then(|()| this_host::add(&mut archive, &root, &dirs))
            .and_then(|()| add_logs(&mut archive, &files, log_bytes))
            .and_then(|()| archive.finish());
        filled.map(|(bytes, _)| bytes).map_err(|error| error.to_string())
    }
}
