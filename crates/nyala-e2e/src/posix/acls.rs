// SPDX-License-Identifier: Apache-2.0

//! POSIX access control lists, as users without rights meet them.

use super::{Check, as_user};
use crate::run::sh;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::time::Duration;

pub(super) const CHECKS: &[Check] = &[
    ("acl_access", acl_access),
    ("acl_default", acl_default),
    ("acl_takes_setgid", acl_takes_setgid),
    ("acl_follows_chmod", acl_follows_chmod),
];

const NOBODY: u32 = 65_534;
const LIMIT: Duration = Duration::from_secs(20);

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// Makes a file with these permissions in a directory that others may pass.
fn file(dir: &Path, name: &str, perm: u32) -> String {
    super::open_the_way(dir);
    let path = dir.join(name);
    fs::write(&path, b"content").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(perm)).unwrap();
    path.display().to_string()
}

#[track_caller]
fn setfacl(rule: &str, path: &str) {
    sh(&format!("setfacl {rule} '{path}'"), LIMIT).must();
}

fn acl_access(dir: &Path) {
    let can = |uid: u32, gid: u32, script: &str, path: &str| as_user(uid, gid, &format!("{script} '{path}'"));
    let closed = file(dir, "closed", 0o600);
    assert!(!can(NOBODY, NOBODY, "cat", &closed));
    setfacl("-m u:65534:r", &closed);
    assert!(can(NOBODY, NOBODY, "cat", &closed), "a named user reads");
    assert!(!can(NOBODY, NOBODY, "echo x >>", &closed), "and does not write");
    assert!(!can(1, 1, "cat", &closed), "others still nothing");
    setfacl("-m g:4321:rw", &closed);
    assert!(can(77, 4321, "echo x >>", &closed), "a named group writes");
    setfacl("-m m::r", &closed);
    assert!(can(77, 4321, "cat", &closed) && !can(77, 4321, "echo x >>", &closed), "the mask bounds it");
    let open = file(dir, "open", 0o666);
    setfacl("-m u:65534:-", &open);
    assert!(!can(NOBODY, NOBODY, "cat", &open), "a list can also forbid");
    assert!(can(1, 1, "echo x >>", &open));
    let listed = sh(&format!("getfacl -cn '{closed}'"), LIMIT).must();
    for line in ["user::rw-", "user:65534:r--", "group:4321:rw-", "mask::r--", "other::---"] {
        assert!(listed.contains(line), "{line} of {listed}");
    }
    setfacl("-b", &closed);
    assert!(!can(NOBODY, NOBODY, "cat", &closed) && !can(77, 4321, "cat", &closed), "without a list as before");
}

fn acl_default(dir: &Path) {
    super::open_the_way(dir);
    let shared = dir.join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o700)).unwrap();
    let path = shared.display().to_string();
    setfacl("-m u:65534:rwx,d:u:65534:rwx,d:o::-", &path);
    sh(&format!("umask 077; echo one > '{path}/file'; mkdir '{path}/sub'; echo two > '{path}/sub/file'"), LIMIT).must();
    assert_eq!(mode(&shared.join("file")) & 0o777, 0o660, "the list counts, not the umask");
    assert!(as_user(NOBODY, NOBODY, &format!("cat '{path}/file' && echo more >> '{path}/sub/file'")));
    assert!(!as_user(1, 1, &format!("cat '{path}/file'")));
    let below = sh(&format!("getfacl -cn '{path}/sub'"), LIMIT).must();
    assert!(below.contains("default:user:65534:rwx"), "directories hand the list on: {below}");
    setfacl("-k", &path);
    sh(&format!("umask 077; echo x > '{path}/after'"), LIMIT).must();
    assert_eq!(mode(&shared.join("after")) & 0o777, 0o600);
    assert!(!as_user(NOBODY, NOBODY, &format!("cat '{path}/after'")));
}

/// As with chmod: who is not in a file's group cannot leave it setgid.
fn acl_takes_setgid(dir: &Path) {
    for (group, kept) in [(NOBODY, true), (4242, false)] {
        let path = file(dir, &format!("f{group}"), 0o644);
        chown(&path, Some(NOBODY), Some(group)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o2755)).unwrap();
        assert!(as_user(NOBODY, NOBODY, &format!("setfacl -m u:1:r '{path}'")));
        let now = mode(path.as_ref());
        assert_eq!(now & 0o2000 != 0, kept, "group {group}: {now:o}");
        assert!(sh(&format!("getfacl -cn '{path}'"), LIMIT).must().contains("user:1:r--"));
    }
}

fn acl_follows_chmod(dir: &Path) {
    let path = file(dir, "f", 0o640);
    setfacl("-m u:65534:rw", &path);
    assert_eq!(mode(path.as_ref()) & 0o777, 0o660, "the group bits are the mask");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert!(!as_user(NOBODY, NOBODY, &format!("cat '{path}'")), "chmod sets the mask");
    fs::set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
    assert!(as_user(NOBODY, NOBODY, &format!("echo x >> '{path}'")), "and gives back");
}
