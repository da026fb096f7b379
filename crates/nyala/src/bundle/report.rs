// SPDX-License-Identifier: Apache-2.0

//! What a service says of its host when an operator's command asks: settings, logs, kernel and disks, as an archive of their own.
//!
//! **Failure model.** As of a bundle (the parent module): what cannot be had is named in it, and the secrets of this host do not leave. The archive
//! is made in memory, within the bound that is asked for and that the connection layer has.

use super::archive::Archive;
use super::files::OwnPlaces;
use super::own_files::{add_logs, add_settings, add_unhidden, gate};
use super::this_host;
use crate::host::Root;
use crate::up::Home;
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
pub fn host_name(home: Option<&Home>) -> String {
    let text = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let dir = home.map_or_else(|| PathBuf::from(crate::config::CONFIG_DIR), |home| home.dir().to_owned());
    // Hosts in namespaces of one machine have files of their own.
    let place = std::fs::metadata(&dir).map_or((0, 0), |found| (found.dev(), found.ino()));
    let (boot, name) = (text("/proc/sys/kernel/random/boot_id"), text("/proc/sys/kernel/hostname"));
    format!("{name}.{boot}.{:x}.{:x}", place.0, place.1)
}

/// The cluster of `nyala up` that a settings file belongs to.
fn home_of(config: &Path) -> Option<Home> {
    let dir = config.parent().filter(|dir| dir.ends_with("conf"))?.parent()?;
    Some(Home::new(dir)).filter(Home::exists)
}

impl ServiceHost {
    fn home(&self) -> Option<Home> {
        self.config.as_deref().and_then(home_of)
    }
}

impl HostReporter for ServiceHost {
    fn host(&self) -> String {
        host_name(self.home().as_ref())
    }

    fn make(&self, log_bytes: u64, most_bytes: u64) -> Result<Vec<u8>, String> {
        let root = Root::at(Path::new("/"));
        let home = self.home();
        let mut places = match &home {
            Some(home) => OwnPlaces::of_home(home),
            None => OwnPlaces::of_host(&root.path("/")),
        };
        places.settings.extend(self.config.clone().filter(|path| !places.settings.contains(path)));
        let dirs: Vec<PathBuf> = home.iter().map(|home| home.dir().to_owned()).collect();
        let (scrub, unhidden) = gate(&places);
        let mut archive = Archive::new(Vec::new(), scrub, most_bytes.max(LEAST));
        add_unhidden(&mut archive, &unhidden);
        let filled = add_settings(&mut archive, &places)
            .and_then(|()| this_host::add(&mut archive, &root, &dirs))
            .and_then(|()| add_logs(&mut archive, &places, log_bytes))
            .and_then(|()| archive.finish());
        filled.map(|(bytes, _)| bytes).map_err(|error| error.to_string())
    }
}
