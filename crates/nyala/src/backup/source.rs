// SPDX-License-Identifier: Apache-2.0

//! The directory that a backup is made of: what it is, and whether it is whole. Its service cannot start while it is held. Failure model: see the parent module.

use super::manifest::{FORMAT, Kind, Manifest};
use crate::exit::{Failure, io};
use nyala_store::own_dir::{self, IdentityError, OwnDir};
use nyala_store::{Options, Store, StoreError, Visit};
use nyala_wire::ClusterId;
use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A directory whose service is stopped.
#[derive(Debug)]
pub struct Source {
    /// Where.
    pub dir: PathBuf,
    /// Whose.
    pub manifest: Manifest,
    /// What its identity file has to say in another directory.
    pub identity: Vec<u8>,
    _held: Held,
}

/// What keeps its service from starting.
#[derive(Debug)]
struct Held {
    _store: File,
    _dir: Option<OwnDir>,
}

/// Opens a directory, reads everything in its store, and keeps its service from starting until the result is dropped. Blocks on the disk.
pub fn open(dir: &Path) -> Result<Source, Failure> {
    let kind = kind_of(dir)?;
    let refused = |error: IdentityError| Failure::failed(error.to_string());
    let damaged = |error: StoreError| Failure::failed(format!("{error}; no backup was made"));
    let (cluster, id, identity, own) = match kind {
        Kind::Mgmt => {
            let remains = nyala_mgmt::look_at_remains(dir)?;
            let path = dir.join(kind.identity());
            let text = std::fs::read(&path).map_err(io(format!("cannot read {}", path.display())))?;
            (remains.cluster, remains.node, text, None)
        }
        Kind::Meta => {
            let own = OwnDir::open(dir, own_dir::Kind::MetaTarget, ClusterId::UNKNOWN).map_err(refused)?;
            let text = own.identity.to_text().map_err(|error| Failure::failed(error.to_string()))?;
            (own.identity.cluster, own.identity.target.0.into(), text.into_bytes(), Some(own))
        }
    };
    if id == 0 {
        return Err(Failure::failed(format!("{}: its service has never been part of a cluster", dir.display())));
    }
    let store = dir.join(kind.store());
    read_everything(&store).map_err(damaged)?;
    let held = Held { _store: nyala_store::hold(&store).map_err(damaged)?, _dir: own };
    let made_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let dir_text = dir.display().to_string();
    let manifest = Manifest { format: FORMAT, kind, cluster, id, made_at, host, dir: dir_text, version };
    Ok(Source { dir: dir.to_owned(), manifest, identity, _held: held })
}

fn kind_of(dir: &Path) -> Result<Kind, Failure> {
    let shown = dir.display();
    if let Some(kind) = [Kind::Mgmt, Kind::Meta]
        .into_iter()
        .find(|kind| dir.join(kind.store()).is_dir() && dir.join(kind.identity()).is_file())
    {
        return Ok(kind);
    }
    let storage = matches!(own_dir::peek(dir, own_dir::Kind::StorageTarget), Ok(Some(_)));
    Err(Failure::usage(if storage {
        format!(
            "{shown} is a storage target: a copy of it fits the metadata of the same moment only; copy the files, through a mount (rsync, tar)"
        )
    } else {
        format!("{shown} is no directory of a management or metadata service; their settings say where it is (dir)")
    }))
}

/// Replays the log, puts it into the tables, and reads each row: damage anywhere is an error.
fn read_everything(dir: &Path) -> Result<(), StoreError> {
    let (store, _) = Store::open(dir, Options::default())?;
    store.checkpoint_blocking()?;
    let visit: &mut Visit<'_> = &mut |_, _| ControlFlow::Continue(());
    store.scan(Bound::Unbounded, Bound::Unbounded, visit)?;
    store.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_management_and_metadata_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        assert!(open(dir.path()).unwrap_err().message.contains("no directory of a management or metadata service"));
        drop(OwnDir::open(dir.path(), own_dir::Kind::StorageTarget, ClusterId([1; 16])).unwrap());
        assert!(open(dir.path()).unwrap_err().message.contains("through a mount"));
        let meta = tempfile::tempdir().unwrap();
        drop(OwnDir::open(meta.path(), own_dir::Kind::MetaTarget, ClusterId([1; 16])).unwrap());
        std::fs::create_dir(meta.path().join("tables")).unwrap();
        assert!(open(meta.path()).unwrap_err().message.contains("never been part of a cluster"));
    }
}
