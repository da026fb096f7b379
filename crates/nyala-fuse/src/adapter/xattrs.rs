// SPDX-License-Identifier: Apache-2.0

//! Extended attributes. ACLs are among them: the metadata server reads them, sets mode bits after them and hands them
//! down to what is made; the kernel asks for them here and checks them.

use super::convert::{errno, inode};
use super::fs::NyalaFs;
use super::{entry, statistics, traces};
use crate::types::{Context, Result};
use crate::{Errno, Ino};
use nyala_client::SetXattr;
use nyala_wire::InodeId;
use std::time::Instant;

const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";

/// Of the attributes that belong to the system there are only ACLs.
pub fn check(name: &[u8]) -> Result<()> {
    if name.starts_with(b"system.") && name != ACL_ACCESS && name != ACL_DEFAULT {
        return Err(Errno::ENOTSUP);
    }
    Ok(())
}

/// Reads one: of the mount's own what it says now, of all others what is stored.
pub async fn get(fs: &NyalaFs, ctx: &Context, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
    if name == entry::ENTRY {
        return entry::show(fs, ino).await;
    }
    if name == traces::TRACES {
        return if ctx.uid == 0 { Ok(fs.traces.value()) } else { Err(Errno::EPERM) };
    }
    check(name)?;
    if name == statistics::NAME && inode(ino) == InodeId::ROOT {
        return Ok(fs.requests.text(&fs.client.stats()).into_bytes());
    }
    fs.client.getxattr(inode(ino), name).await.map_err(|error| errno("getxattr", ino, error))
}

/// Sets one, a name and a value. `kill_sgid`: an access ACL is set by someone who is not in the file's group, which takes its setgid bit
/// away, as a chmod would. The kernel forgets its attributes and ACLs of the inode by itself.
pub async fn set(
    fs: &NyalaFs,
    ctx: &Context,
    ino: Ino,
    (name, value): (&[u8], &[u8]),
    flags: i32,
    kill_sgid: bool,
) -> Result<()> {
    if name == entry::PATTERN {
        return entry::set_pattern(fs, ctx, ino, value).await;
    }
    if name == traces::TRACE {
        return if ctx.uid == 0 { fs.traces.ask(ino, value, Instant::now()) } else { Err(Errno::EPERM) };
    }
    check(name)?;
    if name == statistics::NAME {
        return Err(Errno::EPERM);
    }
    let (create, replace) = (flags & libc::XATTR_CREATE != 0, flags & libc::XATTR_REPLACE != 0);
    let how = SetXattr { create, replace, kill_sgid };
    fs.client.setxattr(inode(ino), name, value, how).await.map_err(|error| errno("setxattr", ino, error))
}

/// Whether a name is shown to this user: what is trusted is not even listed to others than root, who cannot read it.
pub fn is_shown(name: &[u8], uid: u32) -> bool {
    uid == 0 || !name.starts_with(b"trusted.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trusted_names_are_for_root() {
        assert!(is_shown(b"trusted.x", 0) && is_shown(b"user.x", 7) && is_shown(b"security.x", 7));
        assert!(!is_shown(b"trusted.x", 7));
    }

    #[test]
    fn acls_and_everything_that_is_not_the_systems() {
        for name in [ACL_ACCESS, ACL_DEFAULT, b"user.x", b"trusted.x", b"security.capability"] {
            assert_eq!(check(name), Ok(()));
        }
        for name in [b"system.nfs4_acl".as_slice(), b"system.", b"system.posix_acl_access2"] {
            assert_eq!(check(name), Err(Errno::ENOTSUP));
        }
    }
}
