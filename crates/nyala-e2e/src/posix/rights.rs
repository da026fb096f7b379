// SPDX-License-Identifier: Apache-2.0

//! Rights that a file gives whoever executes it, and loses when it changes: setuid and setgid bits, capabilities.

use super::{Check, as_user, pattern};
use crate::sys;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[("setid_bits", setid_bits), ("file_capabilities", file_capabilities)];

const NOBODY: u32 = 65_534;

fn setid_bits(dir: &Path) {
    super::open_the_way(dir);
    let path = dir.join("f");
    fs::write(&path, pattern(1, 50_000)).unwrap();
    fs::write(dir.join("source"), pattern(2, 9000)).unwrap();
    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    let (name, source) = (path.display(), dir.join("source").display().to_string());
    let set = |perm| fs::set_permissions(&path, Permissions::from_mode(perm)).unwrap();
    let now = || fs::metadata(&path).unwrap().mode() & 0o7777;
    // What users do; setgid without the group's right to execute goes only for those outside the group.
    for (what, script) in [
        ("write", format!("echo x >> '{name}'")),
        ("truncate", format!("truncate -s 40000 '{name}'")),
        ("fallocate", format!("fallocate -l 60000 '{name}'")),
        ("punch", format!("fallocate -p -o 100 -l 5000 '{name}'")),
        ("copy", format!("cp '{source}' '{name}'")),
        ("chgrp", format!("chgrp {NOBODY} '{name}'")),
    ] {
        for (before, after) in [(0o6755, 0o755), (0o4711, 0o711)] {
            set(before);
            assert!(as_user(NOBODY, NOBODY, &script), "{what}");
            assert_eq!(now(), after, "{what}: {before:o} became {:o}", now());
        }
        for (gid, before, after) in [(NOBODY, 0o6766, 0o2766), (1, 0o6766, 0o766), (1, 0o2660, 0o660)] {
            // The group's members give it to their group, others cannot.
            if what == "chgrp" {
                continue;
            }
            set(before);
            assert!(as_user(NOBODY, gid, &script), "{what}");
            assert_eq!(now(), after, "{what} by group {gid}: {before:o} became {:o}", now());
        }
    }
    for (before, after) in [(0o6755, 0o755), (0o6745, 0o2745)] {
        set(before);
        chown(&path, None, None).unwrap();
        assert_eq!(now(), after, "a chown that names nobody");
    }
    set(0o6755);
    chown(&path, Some(1), Some(NOBODY)).unwrap();
    assert_eq!(now(), 0o755, "a new owner, given by root");
    set(0o6755);
    OpenOptions::new().write(true).open(&path).unwrap().write_all_at(b"x", 5).unwrap();
    assert_eq!(now(), 0o6755, "root's writes take nothing away");
}

/// Whoever writes, and however: capabilities go.
fn file_capabilities(dir: &Path) {
    const NAME: &str = "security.capability";
    // Version 2, CAP_NET_BIND_SERVICE permitted.
    let mut capability = 0x0200_0001_u32.to_le_bytes().to_vec();
    capability.extend((1_u32 << 10).to_le_bytes());
    capability.extend([0; 12]);
    let path = dir.join("f");
    fs::write(&path, pattern(1, 8192)).unwrap();
    let give = || sys::setxattr(&path, NAME, &capability, 0).unwrap();
    let gone = |what: &str| {
        let error = sys::getxattr(&path, NAME).expect_err(what);
        assert_eq!(error.raw_os_error(), Some(libc::ENODATA), "{what}");
    };
    for (what, read, flags) in [
        ("O_WRONLY", false, 0),
        ("O_RDWR", true, 0),
        ("O_APPEND", false, libc::O_APPEND),
        ("O_RDWR and O_APPEND", true, libc::O_APPEND),
        ("O_SYNC", false, libc::O_SYNC),
    ] {
        give();
        let mut file = OpenOptions::new().read(read).write(true).custom_flags(flags).open(&path).unwrap();
        sys::getxattr(&path, NAME).expect("opening takes nothing away");
        file.write_all(b"x").unwrap();
        gone(what);
        // Given anew while it is open.
        give();
        file.write_all(b"x").unwrap();
        gone(what);
    }
    give();
    fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    gone("truncate");
}
