// SPDX-License-Identifier: Apache-2.0

//! What a mount leaves in `/run/nyala` so that commands find its cluster and its daemon.
//!
//! **Failure model.** A daemon that was killed leaves its record; a record counts only while a mount of ours is at its
//! mount point, and its process id is checked before it is waited for or ended. Without the right to write there (or
//! with a full `/run`) the mount works all the same; commands then want to be told the cluster. A damaged record is an
//! error that names it.

use crate::exit::Failure;
use crate::process::ProcessId;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A mount's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountRecord {
    /// Where it is mounted.
    pub mountpoint: PathBuf,
    /// What was mounted, such as `host:/`.
    pub source: String,
    /// Management services.
    pub mgmt: Vec<SocketAddr>,
    /// The cluster's secret file.
    pub secret: PathBuf,
    /// Whether traffic is encrypted.
    #[serde(default)]
    pub encrypt: bool,
    /// The daemon.
    pub process: Option<ProcessId>,
}

/// Where records are: `/run/nyala` for root, below `XDG_RUNTIME_DIR` for others.
fn directory() -> PathBuf {
    let own = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute());
    match own {
        Some(dir) if !rustix::process::geteuid().is_root() => Path::new(&dir).join("nyala"),
        _ => PathBuf::from("/run/nyala"),
    }
}

/// A name for a mount point: readable, and different for different paths.
pub fn file_stem(mountpoint: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let bytes = mountpoint.as_os_str().as_bytes();
    let readable = |byte: &u8| if byte.is_ascii_alphanumeric() { char::from(*byte) } else { '-' };
    let words: String = bytes.iter().map(readable).take(64).collect();
    format!("{}-{:08x}", words.trim_matches('-'), nyala_wire::checksum::crc32c(bytes))
}

impl MountRecord {
    /// Writes the record; it appears whole or not at all.
    pub fn save(&self) -> std::io::Result<()> {
        self.save_in(&directory())
    }

    fn save_in(&self, dir: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(dir)?;
        let path = dir.join(format!("{}.json", file_stem(&self.mountpoint)));
        let temporary = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&temporary, &path)
    }

    /// The record of the mount at this mount point, if there is one.
    pub fn load(mountpoint: &Path) -> Result<Option<MountRecord>, Failure> {
        MountRecord::load_in(&directory(), mountpoint)
    }

    fn load_in(dir: &Path, mountpoint: &Path) -> Result<Option<MountRecord>, Failure> {
        let path = dir.join(format!("{}.json", file_stem(mountpoint)));
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::config(format!("{}: {error}", path.display()))),
        };
        let damaged =
            |why: String| Failure::config(format!("{} is damaged ({why}); remount to renew it", path.display()));
        let record: MountRecord = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if record.mountpoint != mountpoint {
            return Err(damaged("it is about another mount".into()));
        }
        Ok(Some(record))
    }

    /// Removes the record if it is this process's: a newer mount may have written its own meanwhile.
    pub fn remove(mountpoint: &Path) {
        if let Ok(Some(record)) = MountRecord::load(mountpoint)
            && record.process == ProcessId::own()
        {
            // A record that stays does no harm.
            let _ = std::fs::remove_file(directory().join(format!("{}.json", file_stem(mountpoint))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_by_mount_point_and_damage_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let record = MountRecord {
            mountpoint: "/mnt/a b".into(),
            source: "h:/".into(),
            mgmt: vec!["127.0.0.1:8008".parse().unwrap()],
            secret: "/s".into(),
            encrypt: true,
            process: ProcessId::own(),
        };
        record.save_in(dir.path()).unwrap();
        assert_eq!(MountRecord::load_in(dir.path(), &record.mountpoint), Ok(Some(record.clone())));
        assert_eq!(MountRecord::load_in(dir.path(), Path::new("/mnt/a-b")), Ok(None));
        let file = dir.path().join(format!("{}.json", file_stem(&record.mountpoint)));
        std::fs::write(&file, b"{\"mountpoint\":").unwrap();
        let error = MountRecord::load_in(dir.path(), &record.mountpoint).unwrap_err();
        assert!(error.message.contains(&file.display().to_string()), "{error}");
    }

    #[test]
    fn names_are_readable_and_distinct() {
        assert!(file_stem(Path::new("/mnt/nyala")).starts_with("mnt-nyala-"));
        assert_ne!(file_stem(Path::new("/a/b")), file_stem(Path::new("/a-b")));
    }
}
