// SPDX-License-Identifier: Apache-2.0

//! What a storage service has to be told of the drives of a target.

use nyala_netdrives::DriveLocation;
use nyala_raid::Level;
use std::path::PathBuf;
use std::time::Duration;

/// The drives of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSpec {
    /// Directories, each on a drive of its own, and drives that other hosts lend out.
    pub drives: Vec<DriveLocation>,
    /// Needed where the set is made; elsewhere it must be what the set has.
    pub level: Option<Level>,
    /// Bytes of a strip; the same goes for it, but that there is a default.
    pub strip_bytes: Option<usize>,
    /// Directories of drives, of this host or lent by others, that take the place of those that die. Several targets may have the same: whoever needs one first takes it.
    pub spares: Vec<DriveLocation>,
    /// Other targets of the service have some of the spares too.
    pub spares_shared: bool,
    /// A drive is missing for so long before a spare takes its place; none: a minute.
    pub spare_after: Option<Duration>,
}

impl SetSpec {
    /// The first drive, for messages.
    pub(crate) fn first(&self) -> PathBuf {
        self.drives.first().map(|drive| drive.to_string().into()).unwrap_or_default()
    }

    /// Drives of other hosts.
    pub(crate) fn far(&self) -> Vec<DriveLocation> {
        self.drives.iter().filter(|place| place.dir().is_none()).cloned().collect()
    }

    /// Drives and spares of other hosts.
    pub(crate) fn reached(&self) -> Vec<DriveLocation> {
        let spares = self.spares.iter().filter(|location| location.dir().is_none()).cloned();
        self.far().into_iter().chain(spares).collect()
    }

    /// Directories of this host.
    pub(crate) fn dirs(&self) -> Vec<PathBuf> {
        self.drives.iter().filter_map(|place| place.dir().map(PathBuf::from)).collect()
    }
}
