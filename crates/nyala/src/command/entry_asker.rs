// SPDX-License-Identifier: Apache-2.0

//! Asks about entries one after the other, over one client as long as they are of one cluster: a client registers, opens sessions and
//! says goodbye, which is more than all the rest. Nothing is kept: what cannot be asked is an error of that entry.

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
        if self.last.as_ref().is_none_or(|(mgmt, _)| *mgmt != cluster.mgmt) {
            self.part().await;
            self.last = Some((cluster.mgmt.clone(), cluster.client().await?));
        }
        let Some((_, client)) = &self.last else { return Err(Failure::failed("there is no client")) };
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
