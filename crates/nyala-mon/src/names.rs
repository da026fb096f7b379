// SPDX-License-Identifier: Apache-2.0

//! Looks for names of inodes at metadata servers. Failure model: see [`crate::paths`].

use nyala_wire::busiest::{NamesReply, NamesRequest};
use nyala_wire::meta::EntryInfo;
use nyala_wire::{InodeId, Name, WireError};

/// Answers for the names in one directory or slot at most, of some thousand names each.
const MOST_ASKED: usize = 64;

/// Who is asked.
pub(crate) trait Servers {
    /// About an inode.
    async fn info(&self, inode: InodeId) -> Result<EntryInfo, WireError>;
    /// For names.
    async fn names(&self, request: &NamesRequest) -> Result<NamesReply, WireError>;
}

/// Where a directory is.
pub(crate) enum Above {
    /// It has this name in that directory.
    In(InodeId, Name),
    /// It has some of the names of this directory.
    FragmentOf(InodeId),
    /// It was not found.
    NotFound,
}

/// Where a directory, or a fragment of one, is below the inode that it names as the one above.
pub(crate) async fn above(servers: &impl Servers, inode: InodeId, parent: InodeId) -> Result<Above, WireError> {
    let fragments = servers.info(parent).await?.fragments.unwrap_or_default();
    if fragments.iter().any(|fragment| fragment.inode == inode) {
        return Ok(Above::FragmentOf(parent));
    }
    for dir in std::iter::once(parent).chain(fragments.iter().map(|fragment| fragment.inode)) {
        if let Some((_, dir, name)) = search(servers, Some(dir), &[inode]).await?.pop() {
            return Ok(Above::In(dir, name));
        }
    }
    Ok(Above::NotFound)
}

/// Looks through a directory, or all of a slot: inodes, directories, names.
pub(crate) async fn search(
    servers: &impl Servers,
    dir: Option<InodeId>,
    inodes: &[InodeId],
) -> Result<Vec<(InodeId, InodeId, Name)>, WireError> {
    let mut request = NamesRequest { dir, inodes: inodes.to_vec(), after: (InodeId(0), 0) };
    let mut found = Vec::new();
    for _ in 0..MOST_ASKED {
        let NamesReply { names, next } = servers.names(&request).await?;
        for name in names {
            // What was not asked for is not believed.
            if let Some(at) = request.inodes.iter().position(|inode| *inode == name.inode) {
                request.inodes.swap_remove(at);
                found.push((name.inode, name.dir, name.name));
            }
        }
        match next {
            Some(next) if !request.inodes.is_empty() => request.after = next,
            _ => break,
        }
    }
    Ok(found)
}

/// Names from the root on, as a path.
pub(crate) fn text(names: Vec<Name>) -> String {
    match names.is_empty() {
        true => "/".to_owned(),
        false => names.iter().map(|name| format!("/{}", String::from_utf8_lossy(name.as_bytes()))).collect(),
    }
}
