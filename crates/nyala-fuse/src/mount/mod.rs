// SPDX-License-Identifier: Apache-2.0

//! Making and ending a mount.
//!
//! **Failure model.** The device, the helper or the right to mount can be missing: a typed error says what to do. A
//! previous daemon can have left a dead mount: see `check`. Whoever holds a [`Mount`] unmounts it, lazily if it is in
//! use, when it is dropped; if the process dies instead, the kernel fails all operations with "not connected" until
//! the next mount clears it away. Somebody else may have unmounted meanwhile, and mounted something else there: that is
//! left alone. Read-ahead cannot always be set (no `/sys`, not root): a warning, since it is only speed.

mod check;
mod error;
mod helper;
mod options;
pub mod table;
mod watch;

pub use error::{MountError, UnmountError};
pub use options::{MountOptions, Via};
pub use watch::FlagsWatch;

use crate::transport::dev::{DEVICE, Device};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, UnmountFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// What our mounts are called behind `fuse.`.
const SUBTYPE: &str = "nyala";
/// The file system type of our mounts.
pub const FS_TYPE: &str = "fuse.nyala";

/// A mount of ours; it ends when this is dropped.
#[derive(Debug)]
pub struct Mount {
    device: Device,
    mountpoint: PathBuf,
    /// `major:minor` by which the mount is known again.
    number: Option<String>,
}

impl Mount {
    /// Mounts. Nothing below the mount point answers until a session runs on the device.
    pub fn new(options: &MountOptions) -> Result<Mount, MountError> {
        let mountpoint = check::prepare(&options.mountpoint)?;
        let fd = match options.via {
            Via::System => system_mount(options, &mountpoint)?,
            Via::Fusermount => helper::mount(options, &mountpoint)?,
            Via::Auto => match system_mount(options, &mountpoint) {
                Err(MountError::System { source, .. })
                    if source.raw_os_error() == Some(libc::EPERM) && !rustix::process::geteuid().is_root() =>
                {
                    helper::mount(options, &mountpoint)?
                }
                result => result?,
            },
        };
        let number = match table::top_at(&mountpoint) {
            Ok(Some(entry)) if entry.fs_type == FS_TYPE => Some(entry.device),
            _ => None,
        };
        let device = Device::new(fd).map_err(MountError::Device)?;
        Ok(Mount { device, mountpoint, number })
    }

    /// The device, for a session.
    pub fn device(&self) -> Device {
        self.device.clone()
    }

    /// Where it is mounted, without links.
    pub fn mountpoint(&self) -> &Path {
        &self.mountpoint
    }

    /// Lets the kernel read ahead so far, in KiB. Only of use once the session has answered INIT (`Session::on_ready`),
    /// which sets its own limit of 128 KiB.
    pub fn set_read_ahead(&self, kib: u32) -> io::Result<()> {
        self.read_ahead().set(kib)
    }

    /// The same as a value of its own, to be moved into `Session::on_ready`.
    pub fn read_ahead(&self) -> ReadAhead {
        ReadAhead { number: self.number.clone() }
    }

    /// Says when somebody changes its flags. In a runtime.
    pub fn watch(&self) -> io::Result<FlagsWatch> {
        FlagsWatch::new(self.number.clone().ok_or(io::ErrorKind::NotFound)?)
    }

    /// Unmounts. `lazy`: no new use from now on, and the end when the last user is gone.
    pub fn unmount(&self, lazy: bool) -> Result<(), UnmountError> {
        if self.is_mounted() {
            detach(&self.mountpoint, lazy)
        } else {
            Err(UnmountError::NotMounted(self.mountpoint.clone()))
        }
    }

    /// Whether this very mount is still the uppermost at its place.
    pub fn is_mounted(&self) -> bool {
        match table::top_at(&self.mountpoint) {
            Ok(Some(top)) => top.fs_type == FS_TYPE && Some(top.device) == self.number,
            _ => false,
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if !self.is_mounted() {
            return;
        }
        if let Err(error) = detach(&self.mountpoint, true) {
            tracing::warn!(mountpoint = %self.mountpoint.display(), %error, "the mount stays");
        }
    }
}

/// Sets the kernel's read-ahead of one mount.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    number: Option<String>,
}

impl ReadAhead {
    /// Lets the kernel read ahead so far, in KiB.
    pub fn set(&self, kib: u32) -> io::Result<()> {
        let number = self.number.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        std::fs::write(format!("/sys/class/bdi/{number}/read_ahead_kb"), format!("{kib}\n"))
    }
}

/// Unmounts whatever is uppermost at a path.
pub fn detach(mountpoint: &Path, lazy: bool) -> Result<(), UnmountError> {
    let flags = if lazy { UnmountFlags::DETACH } else { UnmountFlags::empty() } | UnmountFlags::NOFOLLOW;
    let path = || mountpoint.to_path_buf();
    match rustix::mount::unmount(mountpoint, flags) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::PERM) => helper::unmount(mountpoint, lazy),
        Err(rustix::io::Errno::BUSY) => Err(UnmountError::Busy(path())),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => Err(UnmountError::NotMounted(path())),
        Err(error) => Err(UnmountError::Failed { path: path(), reason: error.to_string() }),
    }
}

/// Opens the device and mounts it with `mount(2)`.
fn system_mount(options: &MountOptions, mountpoint: &Path) -> Result<OwnedFd, MountError> {
    let device = rustix::fs::open(DEVICE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(|error| {
        match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::NODEV | rustix::io::Errno::NXIO => MountError::NoDevice,
            // Without the right to open it there is still the helper, which asks for the same right as to mount.
            rustix::io::Errno::ACCESS if options.via == Via::Auto => not_permitted(mountpoint),
            error => MountError::Device(error.into()),
        }
    })?;
    let mut flags = MountFlags::empty();
    for (on, flag) in [
        (options.read_only, MountFlags::RDONLY),
        (options.nosuid, MountFlags::NOSUID),
        (options.nodev, MountFlags::NODEV),
        (options.noexec, MountFlags::NOEXEC),
        (options.noatime, MountFlags::NOATIME),
        (options.nodiratime, MountFlags::NODIRATIME),
    ] {
        if on {
            flags |= flag;
        }
    }
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let system = |source: io::Error| MountError::System { path: mountpoint.to_path_buf(), source };
    let data = CString::new(options.system_data(device.as_raw_fd(), uid, gid)).map_err(|error| system(error.into()))?;
    rustix::mount::mount(&options.source[..], mountpoint, FS_TYPE, flags, &*data)
        .map_err(|error| if error == rustix::io::Errno::NODEV { MountError::NoDevice } else { system(error.into()) })?;
    Ok(device)
}

fn not_permitted(mountpoint: &Path) -> MountError {
    MountError::System { path: mountpoint.to_path_buf(), source: io::Error::from_raw_os_error(libc::EPERM) }
}
