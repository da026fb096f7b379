// SPDX-License-Identifier: Apache-2.0

//! Looks at a mount point before it is used.
//!
//! **Failure model.** A daemon that died leaves a mount whose every use fails with "transport endpoint is not connected":
//! one of ours is detached, lazily, since programs may still stand in it. A daemon that hangs would make the question
//! hang as well: it is asked on a thread of its own and counts as alive when it does not answer in time.

use super::error::MountError;
use super::table::{self, MountEntry};
use super::{FS_TYPE, detach};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// How long a mount may take to answer before it counts as alive.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// The mount point as an absolute path without links, ready to be mounted on.
pub(super) fn prepare(mountpoint: &Path) -> Result<PathBuf, MountError> {
    let path = resolve(mountpoint)?;
    // More than one dead mount may lie on top of each other.
    for _ in 0..16 {
        let top = table::top_at(&path).map_err(|source| MountError::Examine { path: path.clone(), source })?;
        let Some(top) = top.filter(|top| top.fs_type.starts_with("fuse")) else { break };
        if !clear_dead(&path, &top)? {
            break;
        }
    }
    let metadata = std::fs::metadata(&path).map_err(|source| MountError::Examine { path: path.clone(), source })?;
    if !metadata.is_dir() {
        return Err(MountError::NotDirectory(path));
    }
    if std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
        tracing::warn!(mountpoint = %path.display(), "the mount point is not empty; what is in it will be hidden");
    }
    Ok(path)
}

/// Detaches a dead mount of ours. True: it is gone; false: it is alive and of another kind.
fn clear_dead(path: &Path, top: &MountEntry) -> Result<bool, MountError> {
    let ours = top.fs_type == FS_TYPE;
    match (ours, is_dead(path)) {
        (true, true) => {
            tracing::warn!(mountpoint = %path.display(), "detaching the mount of a daemon that is gone");
            detach(path, true).map_err(|error| MountError::Examine {
                path: path.to_path_buf(),
                source: io::Error::other(format!("the mount of a dead daemon stays: {error}")),
            })?;
            Ok(true)
        }
        (true, false) => Err(MountError::AlreadyMounted(path.to_path_buf())),
        (false, true) => Err(MountError::DeadMount { path: path.to_path_buf(), kind: top.fs_type.clone() }),
        (false, false) => Ok(false),
    }
}

/// Whether the mount has lost its daemon. `statfs` is never answered from a cache.
fn is_dead(path: &Path) -> bool {
    let (sender, receiver) = mpsc::channel();
    let path = path.to_path_buf();
    let asking = std::thread::Builder::new().name("nyala-statfs".into()).spawn(move || {
        // After the timeout nobody listens, and nobody needs to.
        let _ = sender.send(rustix::fs::statfs(&path).err());
    });
    if asking.is_err() {
        return false;
    }
    matches!(
        receiver.recv_timeout(REPLY_TIMEOUT),
        Ok(Some(rustix::io::Errno::NOTCONN | rustix::io::Errno::CONNREFUSED | rustix::io::Errno::CONNABORTED))
    )
}

/// Makes the path absolute and free of links, also where a dead mount is at its end.
fn resolve(mountpoint: &Path) -> Result<PathBuf, MountError> {
    let examine = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => MountError::NoMountpoint(mountpoint.to_path_buf()),
        io::ErrorKind::NotADirectory => MountError::NotDirectory(mountpoint.to_path_buf()),
        _ => MountError::Examine { path: mountpoint.to_path_buf(), source },
    };
    match std::fs::canonicalize(mountpoint) {
        Ok(path) => Ok(path),
        Err(error) if error.raw_os_error() == Some(libc::ENOTCONN) => {
            let (parent, name) = match (mountpoint.parent(), mountpoint.file_name()) {
                (Some(parent), Some(name)) => (parent, name),
                _ => return Err(examine(error)),
            };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Ok(std::fs::canonicalize(parent).map_err(examine)?.join(name))
        }
        Err(error) => Err(examine(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_is_wrong_with_the_mount_point() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let missing = dir.path().join("missing");
        assert!(matches!(prepare(&missing), Err(MountError::NoMountpoint(path)) if path == missing));
        let file = dir.path().join("file");
        std::fs::write(&file, b"x")?;
        assert!(matches!(prepare(&file), Err(MountError::NotDirectory(_))));
        // Not empty is a warning only.
        assert_eq!(prepare(dir.path()).ok(), Some(dir.path().canonicalize()?));
        Ok(())
    }
}
