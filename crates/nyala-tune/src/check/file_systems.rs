// SPDX-License-Identifier: Apache-2.0

//! File systems below targets.

use crate::facts::FileSystem;
use crate::finding::{Area, Finding, Level};
use crate::setting::Role;

/// File systems that keep what was synced, on disks of this host.
const GOOD: [&str; 2] = ["xfs", "ext4"];
/// Work, but have been measured less.
const FAIR: [&str; 2] = ["btrfs", "zfs"];
/// Nothing is kept in these over a restart, or it is not this host's.
const BAD: [&str; 11] =
    ["tmpfs", "ramfs", "devtmpfs", "overlay", "nfs", "nfs4", "cifs", "smb3", "beegfs", "lustre", "9p"];
/// Options with which a sync does not reach the disk.
const UNSYNCED: [&str; 2] = ["nobarrier", "barrier=0"];
/// Below this share of free space or inodes, an administrator should act, per cent.
const LOW_PERCENT: u64 = 10;
/// A table of inodes that has one for more bytes than this may be full before the disk is.
const MOST_BYTES_PER_INODE: u64 = 64 << 10;

/// Judges them, and how they share devices.
pub fn check(all: &[FileSystem]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = all.iter().flat_map(one).collect();
    for (at, own) in all.iter().enumerate() {
        let other = all[..at].iter().find(|other| other.device == own.device);
        findings.extend(other.map(|other| {
            let is = format!("it shares a file system with {}", other.dir.display());
            let why = "what fails, fills up or gets slow takes both with it, and their space is counted twice";
            finding(own, Level::Advice, &is, "give each target a file system of its own", why)
        }));
    }
    findings
}

fn finding(own: &FileSystem, level: Level, is: &str, change: &str, why: &str) -> Finding {
    let subject = own.dir.display().to_string();
    Finding { level, area: Area::FileSystem, subject, is: is.into(), change: change.into(), why: why.into() }
}

fn one(own: &FileSystem) -> Vec<Finding> {
    let mut findings = kind(own);
    findings.extend(options(own));
    findings.extend(space(own));
    if own.mountpoint == std::path::Path::new("/") {
        findings.push(finding(
            own,
            Level::Advice,
            "it is on the root file system",
            "mount a disk of its own there, if it is not one that failed to be mounted",
            "a target that fills up would stop the host, and logs of the host take the target's space",
        ));
    }
    findings
}

fn kind(own: &FileSystem) -> Vec<Finding> {
    let name = own.fs_type.as_str();
    let is = format!("it is on {name}");
    if GOOD.contains(&name) {
        Vec::new()
    } else if BAD.contains(&name) || name.starts_with("fuse") {
        let why = "what was acknowledged as synced is gone after a restart, or is on another host";
        vec![finding(own, Level::Danger, &is, "use XFS or ext4 on a disk of this host", why)]
    } else if FAIR.contains(&name) {
        let why = "it copies on write: overwritten files get scattered, and a sync costs more";
        vec![finding(own, Level::Advice, &is, "XFS or ext4 is what Nyala is measured with", why)]
    } else {
        vec![finding(own, Level::Advice, &is, "use XFS or ext4", "nothing is known about Nyala on this file system")]
    }
}

fn options(own: &FileSystem) -> Vec<Finding> {
    let has = |option: &str| own.options.iter().any(|own| own == option);
    let mut findings = Vec::new();
    if let Some(option) = UNSYNCED.iter().find(|option| has(option)) {
        let why = "a sync does not reach the disk: after a power cut, what was acknowledged is lost and tables may be torn, unless every \
                   cache below it keeps its content without power";
        findings.push(finding(own, Level::Danger, &format!("it is mounted with {option}"), "mount it without", why));
    }
    if has("ro") {
        findings.push(finding(
            own,
            Level::Danger,
            "it is mounted read-only",
            "see the kernel's log; repair and remount it",
            "a service cannot write there",
        ));
    }
    if has("data=writeback") {
        let why =
            "after a crash a file may hold what other files had before; checks find such blocks, but they are lost";
        findings.push(finding(
            own,
            Level::Advice,
            "it is mounted with data=writeback",
            "use data=ordered, the default",
            why,
        ));
    }
    if has("sync") || has("dirsync") {
        let why = "each write waits for the disk, though the services sync what has to be synced";
        findings.push(finding(own, Level::Advice, "it is mounted with sync", "mount it without", why));
    }
    if !has("noatime") && !has("ro") {
        let why = "nobody looks at access times of a target's files, and writing them costs requests";
        findings.push(finding(own, Level::Advice, "access times are written", "mount it with noatime", why));
    }
    findings
}

fn space(own: &FileSystem) -> Vec<Finding> {
    let low = |free: u64, all: u64| all > 0 && u128::from(free) * 100 < u128::from(all) * u128::from(LOW_PERCENT);
    let mut findings = Vec::new();
    if low(own.free_bytes, own.total_bytes) {
        let is = format!("{} GiB of {} GiB are free", own.free_bytes >> 30, own.total_bytes >> 30);
        let why = "file systems get slow when they are nearly full, and new files go elsewhere";
        findings.push(finding(own, Level::Advice, &is, "add targets, or make room", why));
    }
    if low(own.free_inodes, own.total_inodes) {
        let is = format!("{} of {} inodes are free", own.free_inodes, own.total_inodes);
        findings.push(finding(
            own,
            Level::Danger,
            &is,
            "make room, or make the file system with more inodes",
            "without inodes no file can be made, however much space is free",
        ));
    } else if own.role == Role::Storage && own.fs_type == "ext4" && own.total_inodes > 0 {
        let each = own.total_bytes / own.total_inodes;
        if each > MOST_BYTES_PER_INODE {
            let is = format!("its table has an inode for each {} KiB", each >> 10);
            let why = "each file has a chunk file on each of its targets; with smaller files the table is full before the disk, and it cannot grow";
            findings.push(finding(own, Level::Advice, &is, "make it with mkfs.ext4 -i 65536 or less, or use XFS", why));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xfs(dir: &str) -> FileSystem {
        FileSystem {
            dir: dir.into(),
            role: Role::Storage,
            mountpoint: dir.into(),
            fs_type: "xfs".into(),
            options: vec!["rw".into(), "noatime".into()],
            device: format!("8:{}", dir.len()),
            total_bytes: 1 << 40,
            free_bytes: 1 << 39,
            total_inodes: 1 << 29,
            free_inodes: 1 << 29,
        }
    }

    /// How bad it is, and a word of what it is.
    #[track_caller]
    fn found(own: FileSystem, level: Level, word: &str) {
        let findings = check(std::slice::from_ref(&own));
        assert!(findings.len() == 1 && findings[0].level == level && findings[0].is.contains(word), "{findings:#?}");
    }

    #[test]
    fn a_good_one_is_not_mentioned() {
        assert_eq!(check(&[xfs("/a"), xfs("/bb")]), []);
    }

    #[test]
    fn each_flaw_is_found_alone() {
        let with = |option: &str| FileSystem { options: vec!["noatime".into(), option.into()], ..xfs("/a") };
        found(with("nobarrier"), Level::Danger, "nobarrier");
        found(with("barrier=0"), Level::Danger, "barrier=0");
        found(with("ro"), Level::Danger, "read-only");
        found(with("data=writeback"), Level::Advice, "writeback");
        found(with("sync"), Level::Advice, "sync");
        found(FileSystem { options: vec!["relatime".into()], ..xfs("/a") }, Level::Advice, "access times");
        for (name, level) in
            [("tmpfs", Level::Danger), ("fuse.sshfs", Level::Danger), ("zfs", Level::Advice), ("f2fs", Level::Advice)]
        {
            found(FileSystem { fs_type: name.into(), ..xfs("/a") }, level, name);
        }
        found(FileSystem { mountpoint: "/".into(), ..xfs("/a") }, Level::Advice, "root");
        found(FileSystem { free_bytes: 1 << 36, ..xfs("/a") }, Level::Advice, "64 GiB of 1024 GiB");
        found(FileSystem { free_inodes: 3, ..xfs("/a") }, Level::Danger, "3 of");
        let few = FileSystem { fs_type: "ext4".into(), total_inodes: 1 << 20, free_inodes: 1 << 20, ..xfs("/a") };
        found(few.clone(), Level::Advice, "each 1024 KiB");
        assert_eq!(check(&[FileSystem { role: Role::Meta, ..few }]), [], "tables of metadata are few files");
        assert_eq!(check(&[FileSystem { total_inodes: 0, free_inodes: 0, ..xfs("/a") }]), [], "no table, no limit");
    }

    #[test]
    fn shared_file_systems_are_told_once() {
        let shared = FileSystem { device: xfs("/a").device, ..xfs("/bb") };
        let findings = check(&[xfs("/a"), shared]);
        assert!(
            findings.len() == 1 && findings[0].subject == "/bb" && findings[0].is.contains("with /a"),
            "{findings:?}"
        );
    }
}
