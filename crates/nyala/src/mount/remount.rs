// SPDX-License-Identifier: Apache-2.0

//! `mount -o remount`: other flags for a mount that is there. Settings of the client stay as they are until it is mounted anew.
//!
//! **Failure model.** What is open for writing forbids read-only, as on every file system. Nothing of ours at that place is
//! an error: the flags of a foreign mount are not changed.

use super::options::MountFlags;
use super::table;
use super::unmount::list_users;
use crate::exit::Failure;
use rustix::mount::MountFlags as Kernel;
use std::path::Path;

/// Changes the flags of a mount to exactly these.
pub fn remount(mountpoint: &Path, flags: &MountFlags) -> Result<(), Failure> {
    let mountpoint = table::settled(mountpoint)?;
    let place = mountpoint.display();
    if table::at(&mountpoint)?.is_none() {
        return Err(Failure::failed(format!("{place} is not a nyala mount (`findmnt -t fuse.nyala` lists them)")));
    }
    match rustix::mount::mount_remount(&mountpoint, kernel_flags(flags), "") {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::BUSY) => Err(Failure::failed(format!(
            "{place} has files that are open for writing{}; close them before it becomes read-only",
            list_users(&mountpoint)
        ))),
        Err(rustix::io::Errno::PERM) => Err(Failure::failed(format!("{place} can only be remounted by root"))),
        Err(error) => Err(Failure::failed(format!("cannot remount {place}: {error}"))),
    }
}

fn kernel_flags(flags: &MountFlags) -> Kernel {
    // With no word on access times the kernel would keep what was said before.
    let atime = if flags.noatime { Kernel::NOATIME } else { Kernel::RELATIME };
    let each = [
        (flags.read_only, Kernel::RDONLY),
        (flags.nosuid, Kernel::NOSUID),
        (flags.nodev, Kernel::NODEV),
        (flags.noexec, Kernel::NOEXEC),
        (flags.nodiratime, Kernel::NODIRATIME),
    ];
    each.into_iter().filter(|(on, _)| *on).fold(atime, |all, (_, flag)| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_exactly_what_is_asked_for() {
        let read = |text: &str| {
            let mut flags = MountFlags::default();
            flags.add(text, false).map(|()| kernel_flags(&flags)).unwrap()
        };
        assert_eq!(read("remount,rw"), Kernel::RELATIME);
        assert_eq!(read("rw,relatime,remount,ro,nodiratime"), Kernel::RELATIME | Kernel::RDONLY | Kernel::NODIRATIME);
        assert_eq!(
            read("nosuid,nodev,noexec,noatime,remount"),
            Kernel::NOSUID | Kernel::NODEV | Kernel::NOEXEC | Kernel::NOATIME
        );
        assert!(!read("ro,remount,rw").contains(Kernel::RDONLY), "the last word counts");
    }

    #[test]
    fn other_mounts_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert!(remount(dir.path(), &MountFlags::default()).unwrap_err().message.contains("is not a nyala mount"));
    }
}
