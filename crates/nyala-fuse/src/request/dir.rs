// SPDX-License-Identifier: Apache-2.0

//! Operations on open directories. Pure.

use super::ParseError;
use super::args::Args;
use super::file::{open_args, release_args};
use crate::abi::args::{FSYNC_FDATASYNC, FsyncIn, ReadIn};
use crate::abi::opcode::Opcode;
use crate::types::{Fh, OpenArgs, ReleaseArgs};

#[derive(Debug)]
pub(crate) enum DirOp {
    Opendir { open: OpenArgs },
    Readdir { fh: Fh, offset: u64, size: u32, plus: bool },
    Releasedir { release: ReleaseArgs },
    Fsyncdir { fh: Fh, datasync: bool },
}

pub(super) fn parse(opcode: Opcode, args: &mut Args<'_>) -> Result<DirOp, ParseError> {
    Ok(match opcode {
        Opcode::Opendir => DirOp::Opendir { open: open_args(args)? },
        Opcode::Readdir | Opcode::Readdirplus => {
            let ReadIn { fh, offset, size, .. } = args.fixed()?;
            DirOp::Readdir { fh: Fh(fh), offset, size, plus: opcode == Opcode::Readdirplus }
        }
        Opcode::Releasedir => DirOp::Releasedir { release: release_args(args)? },
        Opcode::Fsyncdir => {
            let FsyncIn { fh, fsync_flags, .. } = args.fixed()?;
            DirOp::Fsyncdir { fh: Fh(fh), datasync: fsync_flags & FSYNC_FDATASYNC != 0 }
        }
        other => return Err(ParseError::Unknown(other as u32)),
    })
}
