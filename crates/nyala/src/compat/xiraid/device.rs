// SPDX-License-Identifier: Apache-2.0

//! A block device stands for the directory where its file system is mounted: a drive of a set is such a directory.
//!
//! **Failure model.** What is mounted may change at any time; what is not mounted now is refused with what to do. That a directory is empty is for whoever makes a drive of it.

use crate::exit::{Failure, io};
use nyala_fuse::mount::table::{self, MountEntry};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// What the devices of drives lent by other hosts begin with; they are named as everywhere.
const NET: &str = "net://";

/// The drive that a word names: the directory of a block device, a directory, or a drive of another host.
pub fn drive_of(word: &str) -> Result<String, Failure> {
    if word.starts_with(NET) {
        return Ok(word.to_owned());
    }
    let metadata = std::fs::metadata(word).map_err(io(word))?;
    if metadata.is_dir() {
        return Ok(word.to_owned());
    }
    if !metadata.file_type().is_block_device() {
        return Err(Failure::usage(format!("{word} is neither a block device nor a directory")));
    }
    let number = device_number(metadata.rdev());
    let mounts = table::all().map_err(io(table::PATH))?;
    mounted(&mounts, &number).map_or_else(|| Err(not_mounted(word)), |dir| Ok(dir.display().to_string()))
}

/// All of them.
pub fn drives_of(devices: &[String]) -> Result<Vec<String>, Failure> {
    devices.iter().map(|device| drive_of(device)).collect()
}

/// As the table of mounts has it.
fn device_number(number: u64) -> String {
    format!("{}:{}", libc::major(number), libc::minor(number))
}

/// Where the file system of a device was mounted first.
fn mounted<'a>(mounts: &'a [MountEntry], number: &str) -> Option<&'a Path> {
    mounts.iter().find(|entry| entry.device == number).map(|entry| entry.mountpoint.as_path())
}

fn not_mounted(device: &str) -> Failure {
    let name = device.rsplit('/').next().unwrap_or(device);
    Failure::failed(format!(
        "{device} is not mounted. A drive of a set is a directory with a file system of its own: make one, mount it at an empty directory, \
         and say this again:\n  mkfs.xfs {device}\n  mkdir -p /drives/{name}\n  mount {device} /drives/{name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_where_it_was_mounted_first() {
        let mounts: Vec<MountEntry> = table::parse(
            b"36 35 259:1 / /drives/one\\0401 rw - xfs /dev/nvme1n1 rw\n37 35 259:2 / /drives/2 rw - ext4 /dev/nvme2n1 rw\n\
              38 35 259:1 /sub /elsewhere rw - xfs /dev/nvme1n1 rw\n",
        )
        .collect();
        assert_eq!(mounted(&mounts, &device_number(libc::makedev(259, 1))), Some(Path::new("/drives/one 1")));
        assert_eq!(mounted(&mounts, "259:2"), Some(Path::new("/drives/2")));
        assert_eq!(mounted(&mounts, "259:3"), None);
    }

    #[test]
    fn directories_and_lent_drives_stand_for_themselves_and_other_things_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().display().to_string();
        assert_eq!(drive_of(&own), Ok(own));
        assert_eq!(drive_of("net://oss1:8004/d1"), Ok("net://oss1:8004/d1".to_owned()));
        assert!(drive_of("/dev/null").unwrap_err().message.contains("neither a block device"));
        assert!(drive_of("/dev/no-such-device").unwrap_err().message.contains("/dev/no-such-device"));
        let told = not_mounted("/dev/nvme1n1").message;
        assert!(told.contains("mkfs.xfs /dev/nvme1n1") && told.contains("/drives/nvme1n1"), "{told}");
    }
}
