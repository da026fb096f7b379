// SPDX-License-Identifier: Apache-2.0

//! What is mounted where, and how. Pure, besides naming paths.

use std::path::PathBuf;

/// Which way the mount is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Via {
    /// `mount(2)` when permitted, otherwise `fusermount3`.
    #[default]
    Auto,
    /// `mount(2)` only: needs root.
    System,
    /// The set-user-id helper only.
    Fusermount,
}

/// A mount to be made.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// What `df` and `findmnt` show as the source, such as `host:/`.
    pub source: String,
    /// An existing directory.
    pub mountpoint: PathBuf,
    /// No writes.
    pub read_only: bool,
    /// Setuid and setgid bits have no effect.
    pub nosuid: bool,
    /// Device nodes cannot be opened.
    pub nodev: bool,
    /// Programs cannot be run.
    pub noexec: bool,
    /// Access times are not kept.
    pub noatime: bool,
    /// Access times of directories are not kept.
    pub nodiratime: bool,
    /// Other users than the mounting one have access. For others than root this needs `user_allow_other` in
    /// `/etc/fuse.conf`.
    pub allow_other: bool,
    /// The kernel checks permissions by mode bits. Needed whenever entries are cached.
    pub default_permissions: bool,
    /// Largest read request in bytes.
    pub max_read_bytes: u32,
    /// Which way.
    pub via: Via,
}

impl MountOptions {
    /// The defaults for a file system that all users share; as for a local one, setuid programs and device nodes work.
    pub fn new(source: impl Into<String>, mountpoint: impl Into<PathBuf>) -> MountOptions {
        MountOptions {
            source: source.into(),
            mountpoint: mountpoint.into(),
            read_only: false,
            nosuid: false,
            nodev: false,
            noexec: false,
            noatime: false,
            nodiratime: false,
            allow_other: true,
            default_permissions: true,
            max_read_bytes: 1 << 20,
            via: Via::Auto,
        }
    }

    /// The options that only FUSE knows, for `mount(2)`; the caller is `uid` and `gid`.
    pub(super) fn system_data(&self, fd: i32, uid: u32, gid: u32) -> String {
        let mut data = format!("fd={fd},rootmode=40000,user_id={uid},group_id={gid},max_read={}", self.max_read_bytes);
        self.push_common(&mut data);
        data
    }

    /// All options, for `fusermount3`.
    pub(super) fn helper_options(&self) -> String {
        // Backslash and comma mean something there.
        let source = self.source.replace('\\', "\\\\").replace(',', "\\,");
        let mut options = format!("fsname={source},subtype={},max_read={}", super::SUBTYPE, self.max_read_bytes);
        for (on, name) in [
            (self.read_only, ",ro"),
            (self.nosuid, ",nosuid"),
            (self.nodev, ",nodev"),
            (self.noexec, ",noexec"),
            (self.noatime, ",noatime"),
            (self.nodiratime, ",nodiratime"),
        ] {
            if on {
                options.push_str(name);
            }
        }
        self.push_common(&mut options);
        options
    }

    fn push_common(&self, options: &mut String) {
        if self.allow_other {
            options.push_str(",allow_other");
        }
        if self.default_permissions {
            options.push_str(",default_permissions");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_as_the_kernel_and_the_helper_read_them() {
        let mut options = MountOptions::new("a,b:/", "/mnt");
        options.read_only = true;
        assert_eq!(
            options.system_data(7, 0, 0),
            "fd=7,rootmode=40000,user_id=0,group_id=0,max_read=1048576,allow_other,default_permissions"
        );
        assert_eq!(
            options.helper_options(),
            "fsname=a\\,b:/,subtype=nyala,max_read=1048576,ro,allow_other,default_permissions"
        );
    }
}
