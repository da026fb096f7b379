// SPDX-License-Identifier: Apache-2.0

//! What can be seen of a mount without knowing whose it is.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether anything is mounted there: then it is on another device than what it lies in.
pub fn is_mounted(mount: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|there| there.dev()).ok();
    let parent = mount.parent().and_then(device);
    device(mount).is_some_and(|own| Some(own) != parent)
}

/// Its storage servers may come after its mount.
pub fn takes_a_file(mount: &Path) -> bool {
    let probe = mount.join(".nyala-bench-probe");
    let written = fs::write(&probe, [7; 8192]).and_then(|()| fs::File::open(&probe)?.sync_all());
    let read = written.and_then(|()| fs::read(&probe));
    fs::remove_file(&probe).is_ok() && read.is_ok_and(|read| read.len() == 8192)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_told_from_directories() {
        assert!(!is_mounted(&std::env::temp_dir().join("no-such-mount")) && is_mounted(Path::new("/proc")));
    }
}
