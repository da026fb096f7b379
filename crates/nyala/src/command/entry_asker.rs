// SPDX-License-Identifier: Apache-2.0

//! Asks about entries one after the other, over one client as long as they are of one cluster: a client registers, opens sessions and
//! says goodbye, which is more than all the rest.
//!
//! **Failure model.** That of the client: it asks again, and what it cannot ask in the end is the error of that entry. An answer is of a moment ago.

use crate::cluster::{Place, Way, through_mount};
use crate::entries::mounted;
use crate::exit::Failure;
use nyala_client::Client;
use nyala_wire::InodeId;
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::EntryInfo;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// The inode at a place.
pub(super) async fn inode_at(client: &Client, place: &Place) -> Result<InodeId, Failure> {
    match place {
        Place::InRoot(path) => Ok(client.resolve(path.as_os_str().as_bytes(), false).await?.inode),
        Place::Mounted(path, mountpoint) => Ok(mounted::at(path, mountpoint, false)?.inode),
    }
}

/// Whom the last entry was asked of.
#[derive(Default)]
pub struct Asker {
    last: Option<(Vec<SocketAddr>, Client)>,
}

impl Asker {
    /// What is known of an entry, and the map that explains it.
    pub async fn ask(&mut self, way: Way) -> Result<(EntryInfo, Arc<ClusterMap>), Failure> {
        let (cluster, place) = match way {
            Way::Cluster(cluster, place) => (cluster, place),
            Way::Mount { path, why, .. } => {
                return through_mount::look(&path, &why).map(|(info, map)| (info, map.into()));
            }
        };
        if self.last.as_ref().is_some_and(|(mgmt, _)| *mgmt != cluster.mgmt) {
            self.part().await;
        }
        let (_, client) = match self.last.take() {
            Some(same) => self.last.insert(same),
            None => {
                let client = cluster.client().await?;
                self.last.insert((cluster.mgmt, client))
            }
        };
        let inode = inode_at(client, &place).await?;
        Ok((client.entry_info(inode).await?, client.map()))
    }

    /// What was asked for is known: a goodbye that fails changes nothing.
    async fn part(&mut self) {
        if let Some((_, client)) = self.last.take() {
            let _ = client.shutdown().await;
        }
    }

    /// To be called in the end, whatever came of it.
    pub async fn leave(mut self) {
        self.part().await;
    }
}
