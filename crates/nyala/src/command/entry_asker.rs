// SPDX-License-Identifier: Apache-2.0

//! Asks about entries one after the other, over one client as long as they are of one cluster.
//!
//! **Failure model.** That of the client: it asks again, and what it cannot ask in the end is the error of that entry. An answer is of a moment ago.

use crate::cluster::{LastClient, PathLocation, Way, through_mount};
use crate::entries::mounted;
use crate::exit::Failure;
use nyala_client::Client;
use nyala_wire::InodeId;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The inode at a place.
pub(super) async fn inode_at(client: &Client, location: &PathLocation) -> Result<InodeId, Failure> {
    match location {
        PathLocation::InRoot(path) => Ok(client.resolve(path.as_os_str().as_bytes(), false).await?.inode),
        PathLocation::Mounted(path, mountpoint) => Ok(mounted::at(path, mountpoint, false)?.inode),
    }
}

/// Whom the last entry was asked of.
#[derive(Default)]
pub struct Asker {
    last: LastClient,
}

impl Asker {
    /// What is known of an entry, and the map that explains it.
    pub async fn ask(&mut self, way: Way) -> Result<(EntryInfo, Arc<ClusterMap>), Failure> {
        let (cluster, location) = match way {
            Way::Cluster(cluster, location) => (cluster, location),
            Way::Mount { path, why, .. } => {
                return through_mount::look(&path, &why).map(|(info, map)| (info, map.into()));
            }
        };
        let client = self.last.of(&cluster).await?;
        let inode = inode_at(&client, &location).await?;
        Ok((client.entry_info(inode).await?, client.map()))
    }

    /// To be called in the end, whatever came of it.
    pub async fn leave(mut self) {
        self.last.leave().await;
    }
}
