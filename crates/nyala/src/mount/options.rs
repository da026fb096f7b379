// SPDX-License-Identifier: Apache-2.0

//! Mount options, as `-o` of `nyala mount`, `mount(8)` and `/etc/fstab` give them.

use super::others::{is_ignored, is_kernels};
use crate::config::{ClientSettings, Settings};
use std::path::PathBuf;

/// What `-o` said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountFlags {
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
    /// Access times of directories are not kept. They never are: this is for those who look at the table of mounts.
    pub nodiratime: bool,
    /// Other flags for a mount that is there.
    pub remount: bool,
    /// Other users have no access.
    pub only_me: bool,
    /// Port of management hosts that are named without one.
    pub port: Option<u16>,
    /// Configuration file.
    pub config: Option<PathBuf>,
    /// Log file of the daemon.
    pub log_file: Option<PathBuf>,
    /// Log level of the daemon.
    pub log_level: Option<String>,
    /// Settings of the client.
    pub settings: ClientSettings,
}

const KNOWN: &str = "ro, nosuid, nodev, noexec, noatime, nodiratime, remount, noallow_other, encrypt, port=N, secret=FILE, config=FILE, log-file=FILE, \
    log-level=LEVEL, retry-timeout=TIME, write-buffer=SIZE, read-cache=SIZE, read-ahead=SIZE, metadata-cache=SIZE, max-dirty-age=TIME, \
    close-delay=TIME, cache-time=TIME, fuse-transport=auto|dev|uring, metrics=IP:PORT";

impl MountFlags {
    /// Reads one `-o` text. Unknown options are refused (a mistyped `ro` must not become a writable mount) unless the
    /// caller is `sloppy`, as `mount -s` is.
    pub fn add(&mut self, text: &str, sloppy: bool) -> Result<(), String> {
        let remounts = text.split(',').any(|option| option == "remount");
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let known = match option.split_once('=') {
                Some((name, value)) => self.set_value(name, value)?,
                None => self.set_flag(option),
            };
            let name = option.split('=').next().unwrap_or(option);
            if !(known || sloppy || remounts && is_kernels(name)) {
                return Err(format!("unknown mount option {name:?}; known are {KNOWN}"));
            }
        }
        Ok(())
    }

    /// Several `-o` together; later ones win.
    pub fn merged(all: &[MountFlags]) -> MountFlags {
        all.iter().fold(MountFlags::default(), |sum, next| MountFlags {
            read_only: sum.read_only || next.read_only,
            nosuid: sum.nosuid || next.nosuid,
            nodev: sum.nodev || next.nodev,
            noexec: sum.noexec || next.noexec,
            noatime: sum.noatime || next.noatime,
            nodiratime: sum.nodiratime || next.nodiratime,
            remount: sum.remount || next.remount,
            only_me: sum.only_me || next.only_me,
            port: next.port.or(sum.port),
            config: next.config.clone().or(sum.config),
            log_file: next.log_file.clone().or(sum.log_file),
            log_level: next.log_level.clone().or(sum.log_level),
            settings: next.settings.clone().over(sum.settings),
        })
    }

    /// False: not known.
    fn set_flag(&mut self, name: &str) -> bool {
        match name {
            "ro" => self.read_only = true,
            "nosuid" => self.nosuid = true,
            "nodev" => self.nodev = true,
            "noexec" => self.noexec = true,
            "noatime" => self.noatime = true,
            "nodiratime" => self.nodiratime = true,
            "remount" => self.remount = true,
            "encrypt" => self.settings.encrypt = Some(true),
            "noallow_other" => self.only_me = true,
            "rw" => self.read_only = false,
            _ if is_ignored(name) => {}
            _ => return false,
        }
        true
    }

    /// False: not known.
    fn set_value(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let bad = |error: &dyn std::fmt::Display| format!("mount option {name}: {error}");
        macro_rules! parsed {
            () => {
                Some(value.parse().map_err(|error| bad(&error))?)
            };
        }
        if value.is_empty() {
            return Err(bad(&"it has no value"));
        }
        let settings = &mut self.settings;
        match name {
            "secret" => settings.secret = Some(value.into()),
            "config" => self.config = Some(value.into()),
            "log-file" => self.log_file = Some(value.into()),
            "log-level" => self.log_level = Some(value.to_owned()),
            "port" => {
                self.port = Some(value.parse().ok().filter(|p| *p != 0).ok_or_else(|| bad(&"not a port number"))?)
            }
            "retry-timeout" => settings.retry_timeout = parsed!(),
            "write-buffer" => settings.write_buffer = parsed!(),
            "read-cache" => settings.read_cache = parsed!(),
            "metadata-cache" => settings.metadata_cache = parsed!(),
            "read-ahead" => settings.read_ahead = parsed!(),
            "max-dirty-age" => settings.max_dirty_age = parsed!(),
            "close-delay" => settings.close_delay = parsed!(),
            "cache-time" => settings.cache_time = parsed!(),
            "fuse-transport" => settings.fuse_transport = parsed!(),
            "metrics" => settings.metrics = parsed!(),
            "comment" | "uhelper" | "helper" => {}
            _ if name.starts_with("x-") || name.starts_with("X-") => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<MountFlags, String> {
        let mut flags = MountFlags::default();
        flags.add(text, false).map(|()| flags)
    }

    #[test]
    fn an_fstab_line() {
        let flags =
            read("rw,noatime,_netdev,nofail,x-systemd.automount,x-systemd.idle-timeout=60,secret=/s,port=9").unwrap();
        assert!(flags.noatime && !flags.read_only);
        assert_eq!(flags.settings.secret, Some("/s".into()));
        assert_eq!(flags.port, Some(9));
        assert!(read("ro").unwrap().read_only && !read("ro,rw").unwrap().read_only);
        assert_eq!(read("retry-timeout=5s").unwrap().settings.retry_timeout, Some("5s".parse().unwrap()));
        assert_eq!(read("defaults,,").unwrap(), MountFlags::default());
    }

    #[test]
    fn a_remount_as_mount_8_says_it() {
        let shown =
            "ro,relatime,remount,nodiratime,user_id=0,group_id=0,default_permissions,allow_other,max_read=1048576";
        let flags = read(shown).unwrap();
        assert!(flags.remount && flags.read_only && flags.nodiratime && !flags.noatime);
        assert!(read("ro,user_id=0").unwrap_err().contains("user_id"), "only there");
        assert!(read("remount,r0").unwrap_err().contains("r0"));
    }

    #[test]
    fn unknown_and_wrong_options_are_refused() {
        for (bad, word) in [
            ("r0", "r0"),
            ("r0", "noatime"),
            ("ro,sekret=/s", "sekret"),
            ("port=0", "port"),
            ("port=x", "port"),
            ("secret=", "secret"),
            ("write-buffer=lots", "512k"),
            ("fuse-transport=tcp", "uring"),
            ("metrics=9804", "metrics"),
            ("secret", "secret"),
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains(word), "{bad}: {error}");
        }
    }
}
