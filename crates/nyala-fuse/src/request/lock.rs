// SPDX-License-Identifier: Apache-2.0

//! Locks. Pure.

use super::ParseError;
use super::args::Args;
use crate::abi::args::{LK_FLOCK, LkIn};
use crate::abi::opcode::Opcode;
use crate::types::{Fh, Lock, LockArgs};

#[derive(Debug)]
pub(crate) enum LockOp {
    Get { lock: LockArgs },
    Set { lock: LockArgs },
    Flock { lock: LockArgs },
}

pub(super) fn parse(opcode: Opcode, args: &mut Args<'_>) -> Result<LockOp, ParseError> {
    let LkIn { fh, owner, lk, lk_flags, .. } = args.fixed()?;
    let lock = LockArgs {
        fh: Fh(fh),
        owner,
        lock: Lock { start: lk.start, end: lk.end, kind: lk.kind as i32, pid: lk.pid },
        wait: opcode == Opcode::Setlkw,
    };
    Ok(match opcode {
        Opcode::Getlk => LockOp::Get { lock },
        _ if lk_flags & LK_FLOCK != 0 => LockOp::Flock { lock },
        _ => LockOp::Set { lock },
    })
}
