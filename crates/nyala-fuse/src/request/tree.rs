// SPDX-License-Identifier: Apache-2.0

//! Operations on names: the request's inode is the parent directory (for link, the new one). Pure.

use super::ParseError;
use super::args::Args;
use crate::abi::args::*;
use crate::abi::opcode::Opcode;
use crate::types::{Ino, NewInode, OpenArgs};

#[derive(Debug)]
pub(crate) enum TreeOp {
    Lookup { name: Vec<u8> },
    Symlink { name: Vec<u8>, target: Vec<u8> },
    Mknod { name: Vec<u8>, new: NewInode },
    Mkdir { name: Vec<u8>, new: NewInode },
    Unlink { name: Vec<u8> },
    Rmdir { name: Vec<u8> },
    Rename { name: Vec<u8>, new_parent: Ino, new_name: Vec<u8>, flags: u32 },
    Link { ino: Ino, name: Vec<u8> },
    Create { name: Vec<u8>, new: NewInode, open: OpenArgs },
    Tmpfile { new: NewInode, open: OpenArgs },
}

pub(super) fn parse(opcode: Opcode, args: &mut Args<'_>) -> Result<TreeOp, ParseError> {
    Ok(match opcode {
        Opcode::Lookup => {
            // Unlike elsewhere, "." and ".." may come here, when the handler wants NFS export.
            TreeOp::Lookup { name: args.name()? }
        }
        Opcode::Symlink => TreeOp::Symlink { name: args.name()?, target: args.string()?.to_vec() },
        Opcode::Mknod => {
            let MknodIn { mode, rdev, umask, .. } = args.fixed()?;
            TreeOp::Mknod { name: args.name()?, new: NewInode { mode, umask, rdev } }
        }
        Opcode::Mkdir => {
            let MkdirIn { mode, umask } = args.fixed()?;
            TreeOp::Mkdir { name: args.name()?, new: NewInode { mode, umask, rdev: 0 } }
        }
        Opcode::Unlink => TreeOp::Unlink { name: args.name()? },
        Opcode::Rmdir => TreeOp::Rmdir { name: args.name()? },
        Opcode::Rename => {
            let RenameIn { newdir } = args.fixed()?;
            rename(args, newdir, 0)?
        }
        Opcode::Rename2 => {
            let Rename2In { newdir, flags, .. } = args.fixed()?;
            rename(args, newdir, flags)?
        }
        Opcode::Link => {
            let LinkIn { oldnodeid } = args.fixed()?;
            TreeOp::Link { ino: Ino(oldnodeid), name: args.name()? }
        }
        Opcode::Create => {
            let (new, open) = create(args)?;
            TreeOp::Create { name: args.name()?, new, open }
        }
        Opcode::Tmpfile => {
            let (new, open) = create(args)?;
            TreeOp::Tmpfile { new, open }
        }
        other => return Err(ParseError::Unknown(other as u32)),
    })
}

fn rename(args: &mut Args<'_>, newdir: u64, flags: u32) -> Result<TreeOp, ParseError> {
    Ok(TreeOp::Rename { name: args.name()?, new_parent: Ino(newdir), new_name: args.name()?, flags })
}

fn create(args: &mut Args<'_>) -> Result<(NewInode, OpenArgs), ParseError> {
    let CreateIn { flags, mode, umask, open_flags } = args.fixed()?;
    let kill_suidgid = open_flags & OPEN_KILL_SUIDGID != 0;
    Ok((NewInode { mode, umask, rdev: 0 }, OpenArgs { flags: flags as i32, kill_suidgid }))
}
