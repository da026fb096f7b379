// SPDX-License-Identifier: Apache-2.0

//! Processors, and the block devices below directories.

use super::directories::mount;
use super::{Directory, Root};
use nyala_tune::{Device, Role};
use std::path::{Path, PathBuf};

/// Deepest stack of devices (encryption on a volume on a RAID on partitions) that is followed.
const DEEPEST: usize = 8;

/// The processors, in their order.
pub fn processors(root: &Root) -> Vec<String> {
    let number = |name: &String| name.strip_prefix("cpu")?.parse::<u32>().ok();
    let mut names: Vec<String> = root.names("sys/devices/system/cpu");
    names.retain(|name| number(name).is_some());
    names.sort_by_key(number);
    names
}

/// The whole devices below directories with data: what is mounted, and what that is made of. One with both kinds counts as storage.
pub fn below(root: &Root, directories: &[Directory]) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for directory in directories.iter().filter(|directory| directory.data) {
        let Some((mounted, _)) = mount(root, &directory.dir) else { continue };
        let mut names = Vec::new();
        stack(&root.path("sys/dev/block").join(&mounted.device), 0, &mut names);
        for name in names {
            match devices.iter_mut().find(|device| device.name == name) {
                Some(known) if directory.role == Role::Storage => known.role = Role::Storage,
                Some(_) => {}
                None => devices.push(Device { name, role: directory.role }),
            }
        }
    }
    devices
}

/// Adds a device, or the one that it is a part of, and those that it is made of.
fn stack(device: &Path, depth: usize, names: &mut Vec<String>) {
    let Ok(real) = std::fs::canonicalize(device) else { return };
    let whole: PathBuf = match real.parent() {
        Some(parent) if real.join("partition").exists() => parent.to_owned(),
        _ => real,
    };
    let Some(name) = whole.file_name().and_then(|name| name.to_str()) else { return };
    if names.iter().any(|known| known == name) || depth > DEEPEST {
        return;
    }
    names.push(name.to_owned());
    let mut parts: Vec<PathBuf> =
        std::fs::read_dir(whole.join("slaves")).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    parts.sort();
    parts.iter().for_each(|part| stack(part, depth + 1, names));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::Pretended;

    #[test]
    fn a_disk_with_both_kinds_counts_as_storage() {
        let host = Pretended::new();
        let on = |dir: &str, role, data| Directory { dir: dir.into(), role, data };
        let of = |directories: &[Directory]| below(&host.root, directories);
        let both = [on("/data/meta", Role::Meta, true), on("/data/meta/t", Role::Storage, true)];
        assert_eq!(of(&both), [Device { name: "nvme0n1".into(), role: Role::Storage }]);
        assert_eq!(of(&[on("/data/meta", Role::Meta, false)]), [], "no data, no load");
        assert_eq!(of(&[on("/elsewhere", Role::Storage, true)]), [], "the kernel does not show the device");
    }
}
