// SPDX-License-Identifier: Apache-2.0

//! A file system of its own for a host's service, in an image file, so that the host can lose power: what was not synced
//! is then gone, as it is not when a process is killed.
//!
//! Failure model: the power goes by shutting the file system down without flushing its log (the same ioctl for XFS and
//! ext4). From then on nothing reaches the image, and the page cache is dropped with the mount. What the file system
//! had written back by itself before is there, as on a disk without a cache of its own; writes that a disk reorders are
//! not played. The test may die at any moment: mounts and loop devices are found from the test's directory
//! (`crate::cleanup`).

use crate::cluster::text;
use crate::run::{sh, until_unmounted};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long making, mounting or unmounting one may take.
const LIMIT: Duration = Duration::from_secs(60);
/// Size of an image file. It is sparse: only what is written takes room.
const IMAGE_BYTES: u64 = 2 << 30;
/// `_IOR('X', 125, __u32)`: `XFS_IOC_GOINGDOWN`, `EXT4_IOC_SHUTDOWN`.
const SHUTDOWN: u64 = 0x8004_587d;
/// Flag of it: the log is not flushed.
const NO_LOG_FLUSH: u32 = 2;

/// What the services' directories lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disks {
    /// The file system of the test's directory: no host can lose power.
    Shared,
    /// An XFS for each service.
    Xfs,
    /// An ext4 for each service.
    Ext4,
}

/// A file system in an image file.
#[derive(Debug)]
pub struct Disk {
    image: PathBuf,
    point: PathBuf,
}

impl Disk {
    /// Makes the image `POINT.img` with an empty file system and mounts it at `point`, which is made too.
    /// None for [`Disks::Shared`].
    pub fn make(kind: Disks, point: &Path) -> Option<Disk> {
        let make = match kind {
            Disks::Shared => return None,
            Disks::Xfs => "mkfs.xfs -q",
            // Without journal checksums or lazy tables, which a thread of the kernel would write meanwhile.
            Disks::Ext4 => "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0",
        };
        let disk = Disk { image: point.with_extension("img"), point: point.to_owned() };
        let made = File::create_new(&disk.image).and_then(|image| image.set_len(IMAGE_BYTES));
        made.and_then(|()| fs::create_dir(point)).unwrap_or_else(|error| panic!("{}: {error}", point.display()));
        sh(&format!("{make} '{}'", text(&disk.image)), LIMIT).must();
        disk.mount();
        Some(disk)
    }

    /// Mounts it. The loop device goes by itself with the mount.
    pub fn mount(&self) {
        sh(&format!("mount -o loop '{}' '{}'", text(&self.image), text(&self.point)), LIMIT).must();
    }

    /// The power goes: nothing is written any more, the log included. Whoever still works there gets errors.
    pub fn power_off(&self) {
        let done = shut_down(&self.point);
        done.unwrap_or_else(|error| panic!("{} cannot be shut down: {error}", self.point.display()));
    }

    /// Unmounts it; nobody works there any more.
    pub fn unmount(&self) {
        until_unmounted(|| sh(&format!("umount '{}'", text(&self.point)), LIMIT));
    }
}

fn shut_down(point: &Path) -> io::Result<()> {
    let root = File::open(point)?;
    let flags = NO_LOG_FLUSH;
    // SAFETY: the kernel reads four bytes at the address, which live through the call.
    let done = unsafe { libc::ioctl(root.as_raw_fd(), SHUTDOWN as libc::Ioctl, &raw const flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Loop devices whose image lies below `root`.
pub fn loops_below(root: &Path) -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let below = |name: &std::ffi::OsString| {
        let image = fs::read_to_string(Path::new("/sys/block").join(name).join("loop/backing_file"));
        image.is_ok_and(|image| Path::new(image.trim_end()).starts_with(root))
    };
    devices.map(|entry| entry.file_name()).filter(below).map(|name| Path::new("/dev").join(name)).collect()
}

/// Frees the loop devices whose images lie below `root`. Says what did not work.
pub fn remove(root: &Path) -> Vec<String> {
    // A device goes with its mount, but only a moment after it when that was unmounted lazily.
    for _ in 0..50 {
        if loops_below(root).is_empty() {
            return Vec::new();
        }
        // sleeps: between two looks
        std::thread::sleep(Duration::from_millis(20));
    }
    let detached = |device: &PathBuf| sh(&format!("losetup -d '{}'", text(device)), LIMIT);
    loops_below(root).iter().map(detached).filter(|done| !done.ok()).map(|done| done.describe()).collect()
}
