// SPDX-License-Identifier: Apache-2.0

//! What can go wrong with a mount, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Why there is no mount.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// No device.
    #[error(
        "/dev/fuse does not exist: load the fuse module (modprobe fuse) or give this container the device \
         (--device /dev/fuse)"
    )]
    NoDevice,
    /// The device cannot be opened.
    #[error("cannot open /dev/fuse: {0}: check its permissions (usually mode 0666)")]
    Device(#[source] io::Error),
    /// No directory there.
    #[error("mount point {0} does not exist: create it (mkdir -p {0})")]
    NoMountpoint(PathBuf),
    /// Something else there.
    #[error("mount point {0} is not a directory: name one")]
    NotDirectory(PathBuf),
    /// It is mounted.
    #[error("{0} is already a nyala mount: unmount it first (umount {0}), or use another directory")]
    AlreadyMounted(PathBuf),
    /// A dead mount of another kind.
    #[error("the {kind} mount at {path} has lost its process: unmount it first (umount -l {path})")]
    DeadMount {
        /// Mount point.
        path: PathBuf,
        /// File system type.
        kind: String,
    },
    /// The mount point cannot be examined.
    #[error("cannot examine mount point {path}: {source}")]
    Examine {
        /// Mount point.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// `mount(2)` failed.
    #[error("cannot mount on {path}: {source}{hint}", hint = if source.raw_os_error() == Some(libc::EPERM) {
        ": run as root, or install fusermount3 (package fuse3)"
    } else {
        ""
    })]
    System {
        /// Mount point.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The helper is not there.
    #[error("fusermount3 is not installed, and only root can mount without it: install the package fuse3")]
    NoHelper,
    /// The helper failed.
    #[error("fusermount3 could not mount on {path}: {reason}")]
    Helper {
        /// Mount point.
        path: PathBuf,
        /// What the helper said.
        reason: String,
    },
}

/// Why a mount is still there.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// In use.
    #[error("{0} is in use: end the processes that use it (fuser -vm {0}), or detach it lazily (umount -l {0})")]
    Busy(PathBuf),
    /// It is none.
    #[error("{0} is not mounted")]
    NotMounted(PathBuf),
    /// Anything else.
    #[error("cannot unmount {path}: {reason}")]
    Failed {
        /// Mount point.
        path: PathBuf,
        /// The system's or the helper's word.
        reason: String,
    },
}
