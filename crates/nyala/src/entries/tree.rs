// SPDX-License-Identifier: Apache-2.0

//! What a walk asks: the cluster, or the mount where only that may ask. Failure model: see the parent module.

use super::mounted::{self, Named, in_mount};
use crate::cluster::{LastClient, PathLocation, Way, through_mount};
use crate::exit::{Failure, io};
use futures_util::StreamExt;
use nyala_client::{Client, Error as ClientError};
use nyala_wire::map::ClusterMap;
use nyala_wire::meta::{EntryInfo, ListedEntry};
use nyala_wire::{ErrorCode, InodeId};
use std::ffi::OsStr;
use std::fs::ReadDir;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// Names of a directory that are held at a time.
const PAGE: u32 = 256;
/// Entries that a cluster is asked about at a time.
const ASKED_TOGETHER: usize = 16;

/// An entry, and the cluster map that explains it.
pub type Found = (EntryInfo, Arc<ClusterMap>);

/// What a walk asks.
pub enum Tree {
    /// The cluster's services.
    Cluster(Client),
    /// The mount.
    Mount {
        /// The device of its file system.
        device: u64,
        /// Why not the cluster.
        why: Failure,
    },
}

/// The names of a directory that are still to come.
pub enum Names {
    /// None.
    End,
    /// Those of an inode after a cookie.
    Cluster(InodeId, u64),
    /// Those that the kernel gives.
    Mount(ReadDir),
}

impl Tree {
    /// What to ask about a path, and the entry there. Of the cluster `last` asks.
    pub async fn at(way: &Way, path: &Path, last: &mut LastClient) -> Result<(Tree, Named), Failure> {
        let tree = match way {
            Way::Cluster(cluster, _) => Tree::Cluster(last.of(cluster).await?),
            Way::Mount { mountpoint, why, .. } => {
                let root = std::fs::symlink_metadata(mountpoint).map_err(io("cannot look at the mount"))?;
                Tree::Mount { device: root.dev(), why: why.clone() }
            }
        };
        let named = tree.first(way, path).await?;
        Ok((tree, named))
    }

    async fn first(&self, way: &Way, path: &Path) -> Result<Named, Failure> {
        let location = match way {
            Way::Cluster(_, location) => location.clone(),
            Way::Mount { path, mountpoint, .. } => PathLocation::Mounted(path.clone(), mountpoint.clone()),
        };
        let (inode, kind) = match (self, location) {
            (Tree::Cluster(client), PathLocation::InRoot(path)) => {
                let attr = client.resolve(path.as_os_str().as_bytes(), false).await?;
                (attr.inode, attr.kind)
            }
            (_, PathLocation::Mounted(at, mountpoint)) => {
                let named = mounted::at(&at, &mountpoint, false)?;
                (named.inode, named.kind)
            }
            (Tree::Mount { .. }, PathLocation::InRoot(_)) => return Err(Failure::failed("it is on no mount")),
        };
        Ok(Named { path: path.to_owned(), inode, kind })
    }

    /// The map, as far as it is known where the walk begins.
    pub fn map(&self, first: &Named) -> Result<Arc<ClusterMap>, Failure> {
        match self {
            Tree::Cluster(client) => Ok(client.map()),
            Tree::Mount { why, .. } => through_mount::look(&first.path, why).map(|(_, map)| map.into()),
        }
    }

    /// Inodes that a walk from here may meet, if it begins at the root: an estimate.
    pub async fn estimate(&self, from: &Named) -> Option<u64> {
        match self {
            Tree::Cluster(client) if from.inode == InodeId::ROOT => {
                let stats = client.statfs().await.ok()?;
                stats.total_inodes.checked_sub(stats.free_inodes)
            }
            _ => None,
        }
    }

    /// The names of a directory, from the first.
    pub fn names(&self, dir: &Named) -> std::io::Result<Names> {
        match self {
            Tree::Cluster(_) => Ok(Names::Cluster(dir.inode, 0)),
            Tree::Mount { .. } => std::fs::read_dir(&dir.path).map(Names::Mount),
        }
    }

    /// The next names of a directory, perhaps none; `names` says whether there are more. What is gone has none.
    pub async fn page(&self, path: &Path, names: &mut Names) -> Result<Vec<Named>, Failure> {
        match self {
            Tree::Cluster(client) => {
                let Names::Cluster(dir, after) = *names else { return Ok(Vec::new()) };
                let listing = match client.readdir(dir, after, PAGE, false).await {
                    Err(error) if is_gone(&error) => {
                        *names = Names::End;
                        return Ok(Vec::new());
                    }
                    other => other?,
                };
                let last = listing.entries.last().map(|entry| entry.cookie).filter(|_| !listing.end);
                *names = last.map_or(Names::End, |cookie| Names::Cluster(dir, cookie));
                let named = |entry: ListedEntry| Named {
                    path: path.join(OsStr::from_bytes(entry.name.as_bytes())),
                    inode: entry.inode,
                    kind: entry.kind,
                };
                Ok(listing.entries.into_iter().map(named).collect())
            }
            Tree::Mount { device, .. } => {
                let Names::Mount(list) = names else { return Ok(Vec::new()) };
                // Whoever waits for this thread has his turn.
                tokio::task::yield_now().await;
                let page: Vec<_> = list.take(PAGE as usize).collect();
                if page.len() < PAGE as usize {
                    *names = Names::End;
                }
                page.into_iter().filter_map(|entry| in_mount(entry, *device).transpose()).collect()
            }
        }
    }

    /// Asks about entries, several at a time; in their order. `None`: it is gone.
    pub async fn look(&self, page: Vec<(Named, bool)>) -> Vec<(Named, Option<Result<Found, Failure>>)> {
        let each = page.into_iter().map(|(named, wanted)| async move {
            let found = if wanted { self.look_at(&named).await.transpose() } else { None };
            (named, found)
        });
        futures_util::stream::iter(each).buffered(ASKED_TOGETHER).collect().await
    }

    async fn look_at(&self, named: &Named) -> Result<Option<Found>, Failure> {
        match self {
            Tree::Cluster(client) => match client.entry_info(named.inode).await {
                Ok(info) => Ok(Some((info, client.map()))),
                Err(error) if is_gone(&error) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Tree::Mount { why, .. } => match through_mount::look(&named.path, why) {
                Ok((info, map)) => Ok(Some((info, map.into()))),
                Err(_) if !named.path.is_symlink() && !named.path.exists() => Ok(None),
                Err(failure) => Err(failure),
            },
        }
    }
}

fn is_gone(error: &ClientError) -> bool {
    error.is(ErrorCode::NOT_FOUND) || error.is(ErrorCode::STALE)
}
