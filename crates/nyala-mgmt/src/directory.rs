// SPDX-License-Identifier: Apache-2.0

//! The management directory: `mgmt.toml`, `rest.token` and `store/`. `docs/format-mgmt.md` describes it.
//!
//! **Failure model.** The process dies between any two steps of the first start: each step can be done again, and the
//! directory counts as initialised only once the cluster is on disk. Files appear whole or not at all (written under
//! another name, synced, renamed). After that, a missing part is loss, and is refused rather than made anew: a cluster
//! that starts over would give out the same numbers for other things. Two processes: the store's lock decides, before
//! anything is written.

use crate::MgmtError;
use crate::raft::log::RaftLog;
use nyala_store::{Options, Recovery, Store, StoreError, own_dir};
use nyala_wire::ClusterId;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FORMAT_VERSION: u64 = 1;
/// Longest file of ours that is read, bytes.
const MAX_FILE: u64 = 64 << 10;

/// `mgmt.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Identity {
    pub format_version: u64,
    /// The cluster.
    pub cluster: ClusterId,
    /// This directory.
    pub uuid: ClusterId,
    /// Number of this management node; 0 while it waits to become a member of a cluster.
    pub node_id: u64,
    /// The cluster state has been on disk.
    pub initialised: bool,
    /// It joined a cluster that was there before it, and must never make one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// Where it found the cluster that it joined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found_at: Vec<SocketAddr>,
    /// CRC-32C of the other values; absent in what older builds wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl Identity {
    /// With the checksum of what it says.
    fn sealed(self) -> Result<Identity, toml::ser::Error> {
        let covered = Identity { checksum: None, ..self };
        let checksum = Some(own_dir::checksum(&covered)?);
        Ok(Identity { checksum, ..covered })
    }
}

/// What a directory without identity becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// The first management node of a new cluster; `UNKNOWN` draws the cluster's id.
    First(ClusterId),
    /// A further node of a cluster that exists.
    Further,
}

/// An open directory.
pub(crate) struct Directory {
    pub path: PathBuf,
    pub identity: Identity,
    pub store: Store,
}

/// How the store in a directory is opened.
pub type OpenStore<'a> = &'a dyn Fn(&Path, Options) -> Result<(Store, Recovery), StoreError>;

impl Directory {
    /// Opens the directory, or makes it at the first start.
    pub(crate) fn open(
        path: &Path,
        cluster: ClusterId,
        begin: Begin,
        opens: OpenStore<'_>,
    ) -> Result<Directory, MgmtError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(MgmtError::io("make directory", path))?;
        // Looked at before anything is written, so that a foreign directory stays as it is.
        let identity = read_identity(&path.join("mgmt.toml"))?;
        if let Some(identity) = &identity {
            check(path, identity, cluster)?;
        }
        nyala_store::private::tighten(path).map_err(MgmtError::io("make private", path))?;
        let store = open_store(path, opens)?;
        let stored = |e: &dyn std::fmt::Display| MgmtError::Stored { dir: path.to_owned(), reason: e.to_string() };
        let empty = RaftLog::new(store.clone()).is_empty().map_err(|e| stored(&e))?;
        let incomplete = |reason: &str| MgmtError::Incomplete { dir: path.to_owned(), reason: reason.to_owned() };
        let identity = match identity {
            Some(identity) if identity.initialised && empty => return Err(incomplete("store/ has no content")),
            Some(identity) => identity,
            None if !empty => return Err(incomplete("mgmt.toml is missing")),
            None => {
                let (cluster, node_id, joined) = match begin {
                    Begin::First(ClusterId::UNKNOWN) => (random_id()?, 1, false),
                    Begin::First(cluster) => (cluster, 1, false),
                    Begin::Further => (ClusterId::UNKNOWN, 0, true),
                };
                let (format_version, uuid) = (FORMAT_VERSION, random_id()?);
                let (initialised, found_at) = (false, Vec::new());
                let checksum = None;
                let new = Identity { format_version, cluster, uuid, node_id, initialised, joined, found_at, checksum };
                write_identity(path, &new)?;
                new
            }
        };
        Ok(Directory { path: path.to_owned(), identity, store })
    }
}

/// Opens the directory of a node that has been a member, and nothing else: what is missing is not made.
pub(crate) fn open_used(path: &Path) -> Result<Directory, MgmtError> {
    let incomplete = |reason: &str| MgmtError::Incomplete { dir: path.to_owned(), reason: reason.to_owned() };
    let identity = read_identity(&path.join("mgmt.toml"))?.ok_or_else(|| incomplete("mgmt.toml is missing"))?;
    if !identity.initialised {
        return Err(incomplete("this node never had the cluster's state"));
    }
    Directory::open(path, identity.cluster, Begin::Further, &Store::open)
}

/// Notes that the cluster state is on disk.
pub(crate) fn set_initialised(path: &Path, identity: &Identity) -> Result<(), MgmtError> {
    write_identity(path, &Identity { initialised: true, ..identity.clone() })
}

impl Directory {
    /// Notes the cluster, where it is, and the number that this node has been given there.
    pub(crate) fn set_member(
        &mut self,
        cluster: ClusterId,
        node_id: u64,
        found_at: Vec<SocketAddr>,
    ) -> Result<(), MgmtError> {
        let identity = Identity { cluster, node_id, found_at, ..self.identity.clone() };
        write_identity(&self.path, &identity)?;
        self.identity = identity;
        Ok(())
    }
}

fn open_store(path: &Path, opens: OpenStore<'_>) -> Result<Store, MgmtError> {
    // The state is small: small segments, and checkpoints as they come.
    let options = Options {
        segment_bytes: 4 << 20,
        table_bytes: 16 << 30,
        memory_soft_bytes: 16 << 20,
        memory_hard_bytes: 128 << 20,
        ..Options::default()
    };
    let dir = path.join("store");
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
    made.map_err(MgmtError::io("make directory", &dir))?;
    match opens(&dir, options) {
        Ok((store, recovery)) => {
            if recovery.cut_bytes > 0 {
                tracing::warn!(cut_bytes = recovery.cut_bytes, "an unsynced tail of the log was cut after a crash");
            }
            Ok(store)
        }
        Err(StoreError::Locked { .. }) => Err(MgmtError::Locked { dir: path.to_owned() }),
        Err(error) => Err(MgmtError::Store(error)),
    }
}

fn check(dir: &Path, identity: &Identity, cluster: ClusterId) -> Result<(), MgmtError> {
    let dir = dir.to_owned();
    let known = cluster != ClusterId::UNKNOWN && identity.cluster != ClusterId::UNKNOWN;
    if known && identity.cluster != cluster {
        return Err(MgmtError::ForeignCluster { dir, ours: cluster, theirs: identity.cluster });
    }
    Ok(())
}

fn read_identity(path: &Path) -> Result<Option<Identity>, MgmtError> {
    let Some(text) = read_small(path)? else { return Ok(None) };
    let damaged = |reason: String| MgmtError::Damaged { path: path.to_owned(), reason };
    let text = String::from_utf8(text).map_err(|_| damaged("it is not text".to_owned()))?;
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| damaged(e.message().to_owned()))?;
    // The version comes first: a newer file may have keys that we do not know.
    let identity = table.clone().try_into::<Identity>();
    let is_other = |identity: &Identity| identity.clone().sealed().is_ok_and(|sealed| sealed != *identity);
    if identity.as_ref().is_ok_and(|identity| identity.checksum.is_some() && is_other(identity)) {
        return Err(damaged("it is not what its checksum says".to_owned()));
    }
    let found = table.get("format_version").and_then(toml::Value::as_integer);
    let found = found.ok_or_else(|| damaged("format_version is missing".to_owned()))?;
    let found = u64::try_from(found).map_err(|_| damaged("format_version is negative".to_owned()))?;
    if found > FORMAT_VERSION {
        return Err(MgmtError::NewerFormat { path: path.to_owned(), found, known: FORMAT_VERSION });
    }
    let identity = identity.map_err(|e| damaged(e.message().to_owned()))?;
    let waits = identity.joined && !identity.initialised && identity.node_id == 0;
    let member = identity.cluster != ClusterId::UNKNOWN && identity.node_id != 0;
    if identity.uuid == ClusterId::UNKNOWN || !(member || waits) {
        return Err(damaged("an id is zero".to_owned()));
    }
    Ok(Some(identity))
}

fn write_identity(dir: &Path, identity: &Identity) -> Result<(), MgmtError> {
    let path = dir.join("mgmt.toml");
    let sealed = identity.clone().sealed();
    let text = sealed
        .and_then(|sealed| toml::to_string(&sealed))
        .map_err(|e| MgmtError::Damaged { path: path.clone(), reason: format!("it cannot be written as TOML: {e}") })?;
    let text = format!("# Identity of this management directory. Written by nyala; do not edit.\n{text}");
    write_whole(&path, text.as_bytes(), 0o600)
}

/// Writes a file so that it appears whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8], mode: u32) -> Result<(), MgmtError> {
    let temporary = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        match std::fs::remove_file(&temporary) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(parent)?.sync_all()
    };
    write().map_err(MgmtError::io("write", path))
}

/// A small file's content, `None` if there is none.
pub(crate) fn read_small(path: &Path) -> Result<Option<Vec<u8>>, MgmtError> {
    let file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(MgmtError::io("open", path))?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(MgmtError::io("read", path))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(MgmtError::Damaged {
            path: path.to_owned(),
            reason: format!("it is longer than {MAX_FILE} bytes"),
        });
    }
    Ok(Some(bytes))
}

/// Permission bits of a file.
pub(crate) fn mode_of(path: &Path) -> Result<u32, MgmtError> {
    Ok(std::fs::metadata(path).map_err(MgmtError::io("look at", path))?.mode() & 0o7777)
}

/// 16 random bytes that are not all zero.
pub(crate) fn random_id() -> Result<ClusterId, MgmtError> {
    loop {
        let mut id = ClusterId::UNKNOWN;
        getrandom::fill(&mut id.0).map_err(|e| MgmtError::NoRandomness(e.to_string()))?;
        if id != ClusterId::UNKNOWN {
            return Ok(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_is_refused_or_says_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let found_at = vec!["10.0.0.3:8008".parse().unwrap()];
        let (cluster, uuid) = (ClusterId([7; 16]), ClusterId([9; 16]));
        let format_version = FORMAT_VERSION;
        let first = Identity {
            format_version,
            cluster,
            uuid,
            node_id: 1,
            initialised: true,
            joined: false,
            found_at: vec![],
            checksum: None,
        };
        for identity in [Identity { node_id: 3, joined: true, found_at, ..first.clone() }, first] {
            write_identity(dir.path(), &identity).unwrap();
            let path = dir.path().join("mgmt.toml");
            let (good, bytes) = (read_identity(&path).unwrap().unwrap(), std::fs::read(&path).unwrap());
            assert!(good.checksum.is_some());
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                std::fs::write(&path, &flipped).unwrap();
                match read_identity(&path) {
                    Ok(Some(found)) => {
                        assert_eq!(Identity { checksum: good.checksum.clone(), ..found }, good, "bit {bit}")
                    }
                    Ok(None) => panic!("bit {bit}: not found"),
                    Err(MgmtError::Damaged { .. }) => {}
                    Err(other) => panic!("bit {bit}: {other}"),
                }
            }
        }
    }
}
