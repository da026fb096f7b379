// SPDX-License-Identifier: Apache-2.0

//! Fuzz targets of what the kernel says: `crates/nyala-fuzz` runs them. Each takes any bytes, says whether they were
//! accepted, and panics on a wrong result.

use crate::abi::header::InHeader;
use crate::adapter::{callers, processes};
use crate::mount::table;
use crate::request::{DirOp, FileOp, Op, TreeOp, XattrOp, parse};
use crate::session::negotiate::{Answer, negotiate};
use crate::types::Features;
use crate::{Ino, SessionConfig};

/// A request: opcode, length of the extensions in units of 8 bytes, a bit for the long form of SETXATTR, then the arguments.
pub fn request(bytes: &[u8]) -> bool {
    let Some((&[opcode, extensions, long], body)) = bytes.split_first_chunk::<3>() else { return false };
    let header = InHeader {
        opcode: u32::from(opcode),
        nodeid: 1,
        unique: 2,
        total_extlen: u16::from(extensions),
        ..InHeader::default()
    };
    let flags = if long & 1 == 1 { crate::abi::init::SETXATTR_EXT } else { 0 };
    let Ok(op) = parse(&header, body, flags) else { return false };
    let most = body.len();
    let is_name = |name: &[u8]| !name.is_empty() && name.len() < most && !name.contains(&b'/') && !name.contains(&0);
    match &op {
        Op::Tree(
            TreeOp::Lookup { name }
            | TreeOp::Mknod { name, .. }
            | TreeOp::Mkdir { name, .. }
            | TreeOp::Unlink { name }
            | TreeOp::Rmdir { name }
            | TreeOp::Link { name, .. }
            | TreeOp::Create { name, .. },
        ) => assert!(is_name(name)),
        Op::Tree(TreeOp::Symlink { name, target }) => {
            assert!(is_name(name) && name.len() + target.len() + 2 <= most && !target.contains(&0));
        }
        Op::Tree(TreeOp::Rename { name, new_name, .. }) => assert!(is_name(name) && is_name(new_name)),
        Op::File(FileOp::Write { write, data }) => {
            assert!(data.start <= data.end && data.end <= most, "{write:?}");
        }
        Op::Xattr(XattrOp::Set { name, value, .. }) => assert!(name.len() + value.len() < most),
        Op::Forget(forgets) => assert!(forgets.len() * size_of::<(Ino, u64)>() <= most + 8),
        Op::Dir(DirOp::Opendir { .. }) | Op::Lock(_) => assert!(most > 0),
        _ => {}
    }
    true
}

/// INIT.
pub fn init(bytes: &[u8]) -> bool {
    let config = SessionConfig::default();
    match negotiate(bytes, &config, &Features::default()) {
        Answer::Agreed(out, negotiated) => {
            assert!((4096..=config.max_write_bytes.max(32 * 4096)).contains(&negotiated.max_write_bytes));
            assert_eq!(out.max_write, negotiated.max_write_bytes);
            assert_eq!(u64::from(out.flags) | u64::from(out.flags2) << 32, negotiated.flags);
            true
        }
        Answer::Again(_) => true,
        Answer::Refused(_) => false,
    }
}

/// The table of mounts, and what `/proc` says of a process: their names may hold anything.
pub fn proc_files(bytes: &[u8]) -> bool {
    let mounts: Vec<_> = table::parse(bytes).collect();
    let lines = bytes.split(|byte| *byte == b'\n').count();
    assert!(mounts.len() <= lines);
    for mount in &mounts {
        // What is no UTF-8 is shown as U+FFFD, three bytes for one.
        assert!(mount.mountpoint.as_os_str().len() <= bytes.len() && mount.fs_type.len() <= 3 * bytes.len());
    }
    let text = String::from_utf8_lossy(bytes);
    let credentials = callers::parse(&text);
    assert!(credentials.groups.len() <= bytes.len());
    processes::parse(&text).is_some() || !mounts.is_empty() || credentials.capabilities != 0
}
