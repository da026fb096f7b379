// SPDX-License-Identifier: Apache-2.0

//! Operations on open files. Pure.

use super::ParseError;
use super::args::Args;
use crate::abi::args::*;
use crate::abi::header::InHeader;
use crate::abi::opcode::Opcode;
use crate::types::{CopyArgs, Fh, Ino, OpenArgs, ReadArgs, ReleaseArgs, WriteArgs};
use std::ops::Range;

#[derive(Debug)]
pub(crate) enum FileOp {
    Open {
        open: OpenArgs,
    },
    Read {
        read: ReadArgs,
    },
    /// The data stays where it is; this is where, from the start of the arguments.
    Write {
        write: WriteArgs,
        data: Range<usize>,
    },
    Flush {
        fh: Fh,
        lock_owner: u64,
    },
    Release {
        release: ReleaseArgs,
    },
    Fsync {
        fh: Fh,
        datasync: bool,
    },
    Fallocate {
        fh: Fh,
        offset: u64,
        len: u64,
        mode: i32,
    },
    Lseek {
        fh: Fh,
        offset: u64,
        whence: i32,
    },
    /// `wide`: the reply has room for 64 bits.
    Copy {
        copy: CopyArgs,
        wide: bool,
    },
}

pub(super) fn parse(opcode: Opcode, header: &InHeader, args: &mut Args<'_>) -> Result<FileOp, ParseError> {
    Ok(match opcode {
        Opcode::Open => FileOp::Open { open: open_args(args)? },
        Opcode::Read => {
            let ReadIn { fh, offset, size, read_flags, lock_owner, flags, .. } = args.fixed()?;
            let lock_owner = (read_flags & READ_LOCKOWNER != 0).then_some(lock_owner);
            FileOp::Read { read: ReadArgs { fh: Fh(fh), offset, size, flags: flags as i32, lock_owner } }
        }
        Opcode::Write => write(args)?,
        Opcode::Flush => {
            let FlushIn { fh, lock_owner, .. } = args.fixed()?;
            FileOp::Flush { fh: Fh(fh), lock_owner }
        }
        Opcode::Release => FileOp::Release { release: release_args(args)? },
        Opcode::Fsync => {
            let FsyncIn { fh, fsync_flags, .. } = args.fixed()?;
            FileOp::Fsync { fh: Fh(fh), datasync: fsync_flags & FSYNC_FDATASYNC != 0 }
        }
        Opcode::Fallocate => {
            let FallocateIn { fh, offset, length, mode, .. } = args.fixed()?;
            FileOp::Fallocate { fh: Fh(fh), offset, len: length, mode: mode as i32 }
        }
        Opcode::Lseek => {
            let LseekIn { fh, offset, whence, .. } = args.fixed()?;
            FileOp::Lseek { fh: Fh(fh), offset, whence: whence as i32 }
        }
        Opcode::CopyFileRange | Opcode::CopyFileRange64 => {
            let CopyFileRangeIn { fh_in, off_in, nodeid_out, fh_out, off_out, len, .. } = args.fixed()?;
            let wide = opcode == Opcode::CopyFileRange64;
            // The old reply counts in 32 bits; less than asked is always a right answer.
            let len = if wide { len } else { len.min(u64::from(!0xfff_u32)) };
            let copy = CopyArgs {
                ino_in: Ino(header.nodeid),
                fh_in: Fh(fh_in),
                offset_in: off_in,
                ino_out: Ino(nodeid_out),
                fh_out: Fh(fh_out),
                offset_out: off_out,
                len,
            };
            FileOp::Copy { copy, wide }
        }
        other => return Err(ParseError::Unknown(other as u32)),
    })
}

fn write(args: &mut Args<'_>) -> Result<FileOp, ParseError> {
    let WriteIn { fh, offset, size, write_flags, lock_owner, flags, .. } = args.fixed()?;
    let start = args.taken();
    let data = args.bytes(size as usize)?;
    let write = WriteArgs {
        fh: Fh(fh),
        offset,
        flags: flags as i32,
        lock_owner: (write_flags & WRITE_LOCKOWNER != 0).then_some(lock_owner),
        from_cache: write_flags & WRITE_CACHE != 0,
        kill_suidgid: write_flags & WRITE_KILL_SUIDGID != 0,
    };
    Ok(FileOp::Write { write, data: start..start + data.len() })
}

pub(super) fn open_args(args: &mut Args<'_>) -> Result<OpenArgs, ParseError> {
    let OpenIn { flags, open_flags } = args.fixed()?;
    Ok(OpenArgs { flags: flags as i32, kill_suidgid: open_flags & OPEN_KILL_SUIDGID != 0 })
}

pub(super) fn release_args(args: &mut Args<'_>) -> Result<ReleaseArgs, ParseError> {
    let ReleaseIn { fh, flags, release_flags, lock_owner } = args.fixed()?;
    Ok(ReleaseArgs {
        fh: Fh(fh),
        flags: flags as i32,
        lock_owner,
        flush: release_flags & RELEASE_FLUSH != 0,
        flock_unlock: release_flags & RELEASE_FLOCK_UNLOCK != 0,
    })
}
