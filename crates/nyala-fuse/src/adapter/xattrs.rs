// SPDX-License-Identifier: Apache-2.0

//! Extended attributes. ACLs are among them: the metadata server reads them, sets mode bits after them and hands them
//! down to what is made; the kernel asks for them here and checks them.

use super::convert::{errno, inode};
use super::fs::NyalaFs;
use crate::types::Result;
use crate::{Errno, Ino};
use nyala_wire::meta::SetAttr;

const ACL_ACCESS: &[u8] = b"system.posix_acl_access";
const ACL_DEFAULT: &[u8] = b"system.posix_acl_default";
const SETGID: u16 = 0o2000;

/// Of the attributes that belong to the system there are only ACLs.
pub fn check(name: &[u8]) -> Result<()> {
    if name.starts_with(b"system.") && name != ACL_ACCESS && name != ACL_DEFAULT {
        return Err(Errno::ENOTSUP);
    }
    Ok(())
}

/// Sets one. `kill_sgid`: an access ACL is set by someone who is not in the file's group, which takes its setgid bit
/// away, as a chmod would. The kernel forgets its attributes and ACLs of the inode by itself.
pub async fn set(fs: &NyalaFs, ino: Ino, name: &[u8], value: &[u8], flags: i32, kill_sgid: bool) -> Result<()> {
    check(name)?;
    let fail = |error| errno("setxattr", ino, error);
    let (create, replace) = (flags & libc::XATTR_CREATE != 0, flags & libc::XATTR_REPLACE != 0);
    fs.client.setxattr(inode(ino), name, value, create, replace).await.map_err(fail)?;
    if kill_sgid && name == ACL_ACCESS {
        let perm = fs.client.getattr(inode(ino)).await.map_err(fail)?.perm;
        if perm & SETGID != 0 {
            let set = SetAttr { perm: Some(perm & !SETGID), ..SetAttr::default() };
            fs.client.setattr(inode(ino), set).await.map_err(fail)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
