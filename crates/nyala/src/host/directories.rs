// SPDX-License-Identifier: Apache-2.0

//! The directories of the services of this host, and the file systems below them.

use super::Root;
use crate::config::ConfigRole;
use crate::setup::claims;
use nyala_fuse::mount::table;
use nyala_tune::Role;
use nyala_tune::facts::FileSystem;
use std::path::{Path, PathBuf};

/// Where the kernel shows what is mounted.
const MOUNTS: &str = "proc/self/mountinfo";

/// A directory of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Which.
    pub dir: PathBuf,
    /// What it holds.
    pub role: Role,
    /// Whether it holds data of files; the directory of a storage service itself holds a few small files.
    pub data: bool,
}

/// The directories that settings files below `etc/nyala` name, and further storage targets.
pub fn directories(root: &Root, further: &[PathBuf]) -> Vec<Directory> {
    let mut found = Vec::new();
    for service in claims(&root.path("etc/nyala")) {
        let storage = service.role == ConfigRole::Storage;
        let role = if storage { Role::Storage } else { Role::Meta };
        // The first one is the service's own.
        let each = service.dirs.iter().enumerate();
        found.extend(each.map(|(at, dir)| Directory { dir: dir.clone(), role, data: !storage || at > 0 }));
    }
    found.extend(further.iter().map(|dir| Directory { dir: dir.clone(), role: Role::Storage, data: true }));
    found
}

/// The mounted file system that a directory is on, with its options.
pub fn mount(root: &Root, dir: &Path) -> Option<(table::MountEntry, Vec<String>)> {
    let dir = match root.is_this_host() {
        true => std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()),
        false => dir.to_owned(),
    };
    let mounts = root.text(MOUNTS)?;
    let read = |line: &str| Some((table::parse(line.as_bytes()).next()?, options(line)));
    let over = mounts.lines().filter_map(read).filter(|(mounted, _)| dir.starts_with(&mounted.mountpoint));
    // Of equal ones the last is uppermost.
    over.enumerate()
        .max_by_key(|(at, (mounted, _))| (mounted.mountpoint.components().count(), *at))
        .map(|(_, found)| found)
}

/// The options of the mount and of the whole file system in a line of the kernel's table.
fn options(line: &str) -> Vec<String> {
    let own = line.split(' ').nth(5).unwrap_or_default();
    let whole = line.split(" - ").nth(1).and_then(|rest| rest.split(' ').nth(2)).unwrap_or_default();
    own.split(',').chain(whole.split(',')).filter(|option| !option.is_empty()).map(str::to_owned).collect()
}

/// The file system below a directory.
pub fn file_system(root: &Root, directory: &Directory) -> Option<FileSystem> {
    let (mounted, options) = mount(root, &directory.dir)?;
    // Where the directory is to be made yet, what it will be on is asked.
    let there = directory.dir.ancestors().map(|dir| root.path(dir)).find(|path| path.exists())?;
    let space = rustix::fs::statvfs(&there).ok()?;
    Some(FileSystem {
        dir: directory.dir.clone(),
        role: directory.role,
        mountpoint: mounted.mountpoint,
        fs_type: mounted.fs_type,
        options,
        device: mounted.device,
        total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
        free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
        total_inodes: space.f_files,
        free_inodes: space.f_favail,
    })
}
