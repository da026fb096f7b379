// SPDX-License-Identifier: Apache-2.0

//! From inodes to paths: asks metadata servers for the names of inodes, and of the directories above them.
//!
//! A directory knows the one above it, and its name is looked for there. A file's is looked for in the slot of its inode, where it lies unless it
//! was moved to another directory, or its directory was split since.
//!
//! **Failure model.** Names change meanwhile, and what is known is kept for a while: a path may be one of half a minute ago. Whoever is asked may be
//! away: then there is no path now. Looking is bounded ([`crate::names`]): in larger ones a name may not be found.

use crate::names::{Above, Servers, above, search, text};
use nyala_wire::busiest::MAX_NAMED;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{ErrorCode, FileKind, InodeId, Name, Slot, WireError};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// Deepest directory.
const DEEPEST: usize = 128;
/// For so long what was found, or not, is not asked for again.
const EXPIRY: Duration = Duration::from_secs(30);
/// Most inodes of which something is known.
const MOST_KNOWN: usize = 16_384;

/// Where an inode is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InodePath {
    Root,
    In(InodeId, Name),
    /// It has some of the names of this directory.
    FragmentOf(InodeId),
    Nowhere,
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The path; missing: it was not found.
    pub path: Option<String>,
    /// Whether it is a directory, if there is such an inode.
    pub kind: Option<FileKind>,
}

/// What is known of inodes.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    known: HashMap<InodeId, (Instant, InodePath, Option<FileKind>)>,
}

impl Paths {
    /// The paths of inodes, in their order.
    pub async fn of(&mut self, servers: &impl Servers, inodes: &[InodeId]) -> Vec<Found> {
        let now = Instant::now();
        self.known.retain(|_, (at, ..)| now.duration_since(*at) < EXPIRY);
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        self.look(servers, inodes).await;
        let mut found = Vec::with_capacity(inodes.len());
        for inode in inodes {
            let path = self.path(servers, *inode).await;
            let kind = self.known.get(inode).and_then(|(_, _, kind)| *kind);
            found.push(Found { path: path.map(text), kind });
        }
        found
    }

    /// Asks what inodes are; names of files that lie in one slot are looked for together.
    async fn look(&mut self, servers: &impl Servers, inodes: &[InodeId]) {
        let mut files: BTreeMap<Slot, Vec<InodeId>> = BTreeMap::new();
        for inode in inodes.iter().filter(|inode| !self.known.contains_key(inode)).copied().collect::<Vec<_>>() {
            match servers.info(inode).await {
                Ok(info) if info.attr.kind != FileKind::Directory => {
                    self.know(inode, InodePath::Nowhere, Some(info.attr.kind));
                    files.entry(inode.slot()).or_default().push(inode);
                }
                other => drop(self.directory(servers, inode, other).await),
            }
        }
        for inodes in files.values().flat_map(|inodes| inodes.chunks(MAX_NAMED)) {
            for (inode, dir, name) in search(servers, None, inodes).await.unwrap_or_default() {
                let kind = self.known.get(&inode).and_then(|(_, _, kind)| *kind);
                self.know(inode, InodePath::In(dir, name), kind);
            }
        }
    }

    fn know(&mut self, inode: InodeId, place: InodePath, kind: Option<FileKind>) {
        self.known.insert(inode, (Instant::now(), place, kind));
    }

    /// Names from the root on.
    async fn path(&mut self, servers: &impl Servers, inode: InodeId) -> Option<Vec<Name>> {
        let (mut names, mut at) = (Vec::new(), inode);
        for _ in 0..DEEPEST {
            let place = match self.known.get(&at) {
                Some((_, place, _)) => place.clone(),
                None => {
                    let info = servers.info(at).await;
                    self.directory(servers, at, info).await?
                }
            };
            match place {
                InodePath::Root => {
                    names.reverse();
                    return Some(names);
                }
                InodePath::In(dir, name) => {
                    names.push(name);
                    at = dir;
                }
                InodePath::FragmentOf(dir) => at = dir,
                InodePath::Nowhere => return None,
            }
        }
        None
    }

    /// Where a directory is of which this was said; none: it is not known now.
    async fn directory(
        &mut self,
        servers: &impl Servers,
        inode: InodeId,
        info: Result<EntryInfo, WireError>,
    ) -> Option<InodePath> {
        let (place, kind) = match info {
            _ if inode == InodeId::ROOT => (InodePath::Root, Some(FileKind::Directory)),
            Ok(EntryInfo { parent: Some(parent), .. }) => {
                let place = match above(servers, inode, parent).await.ok()? {
                    Above::In(dir, name) => InodePath::In(dir, name),
                    Above::FragmentOf(dir) => InodePath::FragmentOf(dir),
                    Above::NotFound => InodePath::Nowhere,
                };
                (place, Some(FileKind::Directory))
            }
            Err(error) if error.code != ErrorCode::STALE => return None,
            _ => (InodePath::Nowhere, None),
        };
        self.know(inode, place.clone(), kind);
        Some(place)
    }
}

#[cfg(test)]
mod tests;
