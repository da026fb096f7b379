// SPDX-License-Identifier: Apache-2.0

//! What this host is made of, read from the kernel's files: everything that `nyala setup check` and `nyala tune` look at. It judges
//! nothing; that is `nyala_tune`'s, which is pure.
//!
//! **Failure model.** Files of the kernel may be missing (another kernel, a container, a device that went) or unreadable: what cannot be
//! read is absent from the facts. A disk that hangs may hang `statvfs`, as it would hang its service. Servers of the cluster may be gone:
//! each is asked with a limit of time.

mod clock;
mod devices;
mod directories;
mod gather;
mod links;
mod network;
mod root;

pub use clock::clock;
pub use devices::{below, processors};
pub use directories::{Directory, directories, file_system};
pub use gather::{Gathered, gather};
pub use links::SpeedTest;
pub use network::{interfaces, nodes, sharing_subnets};
pub use root::{Root, RootArg};

use nyala_tune::facts::{KernelFile, Swap};
use nyala_tune::plan::items;
use nyala_tune::{Hardware, Item, Texts};

/// What has settings, for the directories of services.
pub fn hardware(root: &Root, directories: &[Directory]) -> Hardware {
    Hardware { processors: processors(root), devices: below(root, directories), interfaces: Vec::new() }
}

/// A setting with what its files say.
pub fn kernel_file(text: &dyn Fn(&str) -> Option<String>, item: &Item) -> KernelFile {
    let texts = Texts {
        own: text(&item.file()),
        limit: item.limit_file().and_then(|file| text(&file)),
        counterpart: item.setting.counterpart.and_then(text),
    };
    KernelFile { item: item.clone(), texts }
}

/// The kernel's files of all settings.
pub fn kernel_files(root: &Root, hardware: &Hardware) -> Vec<KernelFile> {
    items(hardware).iter().map(|item| kernel_file(&|file| root.text(file), item)).collect()
}

/// Swapping.
pub fn swap(root: &Root) -> Option<Swap> {
    let swappiness = root.text("proc/sys/vm/swappiness")?.trim().parse().ok()?;
    Some(Swap { swappiness, on: root.text("proc/swaps").is_some_and(|text| text.lines().count() > 1) })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    /// A host made of files, with a storage target on a RAID of two disks and a metadata target on a partition.
    pub struct Pretended {
        pub dir: tempfile::TempDir,
        pub root: Root,
    }

    impl Pretended {
        pub fn new() -> Pretended {
            let dir = tempfile::tempdir().unwrap();
            let own = Pretended { root: Root::at(dir.path()), dir };
            let files = [
                ("proc/sys/vm/dirty_background_ratio", "10\n"),
                ("proc/sys/vm/dirty_background_bytes", "0\n"),
                ("proc/sys/vm/dirty_ratio", "0\n"),
                ("proc/sys/vm/dirty_bytes", "4096000\n"),
                ("proc/sys/vm/vfs_cache_pressure", "100\n"),
                ("proc/sys/vm/min_free_kbytes", "67584\n"),
                ("proc/sys/vm/zone_reclaim_mode", "0\n"),
                ("proc/sys/vm/swappiness", "60\n"),
                ("proc/sys/kernel/random/boot_id", "b1\n"),
                ("proc/swaps", "Filename Type Size Used Priority\n/dev/sdz partition 1 0 -2\n"),
                ("proc/meminfo", "MemTotal:       263752644 kB\n"),
                ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
                ("sys/kernel/mm/transparent_hugepage/defrag", "always defer [madvise] never\n"),
                ("sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n"),
                ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
                ("sys/devices/system/cpu/cpu10/cpufreq/scaling_governor", "powersave\n"),
                ("sys/devices/system/cpu/cpuidle/x", ""),
                ("etc/nyala/storage.toml", "dir = \"/var/lib/nyala/storage\"\n[[targets]]\ndir = \"/data/t1\"\n"),
                ("etc/nyala/inst1.d/meta.toml", "dir = \"/data/meta\"\n"),
                (
                    "proc/self/mountinfo",
                    "20 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro\n\
                     21 20 9:0 / /data/t1 rw,noatime - xfs /dev/md0 rw,attr2\n\
                     22 20 259:2 / /data/meta rw,relatime - ext4 /dev/nvme0n1p2 rw,nobarrier\n",
                ),
                ("sys/devices/x/block/nvme0n1/nvme0n1p2/partition", "2\n"),
                ("sys/class/net/eth0/mtu", "1500\n"),
                ("sys/class/net/eth0/speed", "25000\n"),
                ("sys/class/net/eth0/duplex", "full\n"),
                ("sys/class/net/eth0/operstate", "up\n"),
                ("sys/class/net/eth1/operstate", "down\n"),
                ("sys/class/net/lo/operstate", "unknown\n"),
                ("data/t1/x", ""),
            ];
            files.iter().for_each(|(file, text)| own.write(file, text));
            for disk in ["sda", "sdb", "md0", "nvme0n1"] {
                own.write(&format!("sys/devices/x/block/{disk}/queue/scheduler"), "[none] mq-deadline kyber\n");
                own.write(&format!("sys/devices/x/block/{disk}/queue/nr_requests"), "256\n");
                own.write(&format!("sys/devices/x/block/{disk}/queue/max_sectors_kb"), "1280\n");
                own.write(&format!("sys/devices/x/block/{disk}/queue/max_hw_sectors_kb"), "128\n");
                own.link(&format!("sys/block/{disk}"), &format!("sys/devices/x/block/{disk}"));
            }
            own.link("sys/dev/block/9:0", "sys/devices/x/block/md0");
            own.link("sys/dev/block/259:2", "sys/devices/x/block/nvme0n1/nvme0n1p2");
            own.link("sys/devices/x/block/md0/slaves/sda", "sys/devices/x/block/sda");
            own.link("sys/devices/x/block/md0/slaves/sdb", "sys/devices/x/block/sdb");
            own
        }

        pub fn at(&self, file: &str) -> PathBuf {
            self.dir.path().join(file)
        }

        pub fn write(&self, file: &str, text: &str) {
            std::fs::create_dir_all(self.at(file).parent().unwrap()).unwrap();
            std::fs::write(self.at(file), text).unwrap();
        }

        pub fn says(&self, file: &str) -> String {
            std::fs::read_to_string(self.at(file)).unwrap().trim().to_owned()
        }

        fn link(&self, file: &str, to: &str) {
            std::fs::create_dir_all(self.at(file).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(self.at(to), self.at(file)).unwrap();
        }
    }

    #[test]
    fn a_host_is_read_from_its_files() {
        let host = Pretended::new();
        let directories = directories(&host.root, &[PathBuf::from("/extra")]);
        let dirs: Vec<&Path> = directories.iter().map(|directory| directory.dir.as_path()).collect();
        assert_eq!(dirs, ["/var/lib/nyala/storage", "/data/t1", "/data/meta", "/extra"].map(Path::new));
        let hardware = hardware(&host.root, &directories);
        assert_eq!(hardware.processors, ["cpu0", "cpu10"]);
        let devices: Vec<&str> = hardware.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(devices, ["md0", "sda", "sdb", "nvme0n1"], "a RAID and its disks, and the disk of a partition");
        let files = kernel_files(&host.root, &hardware);
        let of = |id: &str| files.iter().find(|file| file.item.setting.id == id).unwrap();
        assert_eq!(of("meta.scheduler").texts.own.as_deref(), Some("[none] mq-deadline kyber\n"));
        assert_eq!(of("storage.max_sectors_kb").texts.limit.as_deref(), Some("128\n"));
        assert_eq!(of("vm.dirty_ratio").texts.counterpart.as_deref(), Some("4096000\n"));
        assert_eq!(swap(&host.root), Some(Swap { swappiness: 60, on: true }));
        let meta = file_system(&host.root, &directories[2]).unwrap();
        assert_eq!((meta.fs_type.as_str(), meta.mountpoint.as_path()), ("ext4", Path::new("/data/meta")));
        assert!(meta.options.contains(&"nobarrier".to_owned()) && meta.options.contains(&"relatime".to_owned()));
        assert!(meta.total_bytes > 0);
    }
}
