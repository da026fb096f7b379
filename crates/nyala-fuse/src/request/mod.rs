// SPDX-License-Identifier: Apache-2.0

//! Requests as owned values. Pure.
//!
//! **Failure model.** The kernel is trusted not to be hostile, but a newer one may send what this version does not know,
//! and an error here must not take the mount down: every input gives an operation or an error, never a panic, and
//! nothing is allocated that is larger than the input.

pub(crate) mod args;
mod dir;
mod file;
#[cfg(test)]
mod fuzz;
mod inode;
mod lock;
mod tree;
mod xattr;

pub(crate) use dir::DirOp;
pub(crate) use file::FileOp;
pub(crate) use inode::InodeOp;
pub(crate) use lock::LockOp;
pub(crate) use tree::TreeOp;
pub(crate) use xattr::XattrOp;

use crate::abi::args::{BatchForgetIn, ForgetIn, ForgetOne, InterruptIn};
use crate::abi::header::InHeader;
use crate::abi::init;
use crate::abi::opcode::Opcode;
use crate::types::Ino;
use args::Args;

/// Why a request cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseError {
    /// Answered with `ENOSYS`: the kernel then does without.
    #[error("unknown operation {0}")]
    Unknown(u32),
    /// Answered with `EINVAL`.
    #[error("malformed request: {0}")]
    Malformed(&'static str),
}

/// What a request asks for.
#[derive(Debug)]
pub(crate) enum Op {
    Tree(TreeOp),
    Inode(InodeOp),
    File(FileOp),
    Dir(DirOp),
    Xattr(XattrOp),
    Lock(LockOp),
    Forget(Vec<(Ino, u64)>),
    /// The request of this number is to be interrupted.
    Interrupt(u64),
    /// An INIT on a mount that has had one.
    Init,
    Destroy,
    /// Known, and not served.
    Unsupported,
}

/// Takes a request apart; `flags` are the INIT flags in force.
pub(crate) fn parse(header: &InHeader, body: &[u8], flags: u64) -> Result<Op, ParseError> {
    let opcode = Opcode::from_number(header.opcode).ok_or(ParseError::Unknown(header.opcode))?;
    let mut args = Args::new(body, usize::from(header.total_extlen) * 8)?;
    let args = &mut args;
    Ok(match opcode {
        Opcode::Lookup
        | Opcode::Symlink
        | Opcode::Mknod
        | Opcode::Mkdir
        | Opcode::Unlink
        | Opcode::Rmdir
        | Opcode::Rename
        | Opcode::Rename2
        | Opcode::Link
        | Opcode::Create
        | Opcode::Tmpfile => Op::Tree(tree::parse(opcode, args)?),
        Opcode::Getattr
        | Opcode::Setattr
        | Opcode::Readlink
        | Opcode::Statfs
        | Opcode::Access
        | Opcode::Statx
        | Opcode::Syncfs => Op::Inode(inode::parse(opcode, args)?),
        Opcode::Open
        | Opcode::Read
        | Opcode::Write
        | Opcode::Flush
        | Opcode::Release
        | Opcode::Fsync
        | Opcode::Fallocate
        | Opcode::Lseek
        | Opcode::CopyFileRange
        | Opcode::CopyFileRange64 => Op::File(file::parse(opcode, header, args)?),
        Opcode::Opendir | Opcode::Readdir | Opcode::Readdirplus | Opcode::Releasedir | Opcode::Fsyncdir => {
            Op::Dir(dir::parse(opcode, args)?)
        }
        Opcode::Setxattr | Opcode::Getxattr | Opcode::Listxattr | Opcode::Removexattr => {
            Op::Xattr(xattr::parse(opcode, args, flags & init::SETXATTR_EXT != 0)?)
        }
        Opcode::Getlk | Opcode::Setlk | Opcode::Setlkw => Op::Lock(lock::parse(opcode, args)?),
        Opcode::Forget => Op::Forget(vec![(Ino(header.nodeid), args.fixed::<ForgetIn>()?.nlookup)]),
        Opcode::BatchForget => Op::Forget(batch_forget(args)?),
        Opcode::Interrupt => Op::Interrupt(args.fixed::<InterruptIn>()?.unique),
        Opcode::Init => Op::Init,
        Opcode::Destroy => Op::Destroy,
        Opcode::Bmap
        | Opcode::Ioctl
        | Opcode::Poll
        | Opcode::NotifyReply
        | Opcode::SetupMapping
        | Opcode::RemoveMapping => Op::Unsupported,
    })
}

fn batch_forget(args: &mut Args<'_>) -> Result<Vec<(Ino, u64)>, ParseError> {
    let count = args.fixed::<BatchForgetIn>()?.count as usize;
    let wanted = count.checked_mul(size_of::<ForgetOne>()).ok_or(ParseError::Malformed("too many forgets"))?;
    let mut list = Args::new(args.bytes(wanted)?, 0)?;
    let mut forgets = Vec::with_capacity(count);
    for _ in 0..count {
        let one: ForgetOne = list.fixed()?;
        forgets.push((Ino(one.nodeid), one.nlookup));
    }
    Ok(forgets)
}
