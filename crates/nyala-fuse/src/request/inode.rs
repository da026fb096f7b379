// SPDX-License-Identifier: Apache-2.0

//! Operations on one inode's attributes. Pure.

use super::ParseError;
use super::args::Args;
use crate::abi::args::*;
use crate::abi::opcode::Opcode;
use crate::types::{Fh, SetAttr, SetTime, Timestamp};

#[derive(Debug)]
pub(crate) enum InodeOp {
    Getattr { fh: Option<Fh> },
    Setattr { set: SetAttr },
    Readlink,
    Statfs,
    Access { mask: u32 },
    Statx { fh: Option<Fh>, flags: u32, mask: u32 },
    Syncfs,
}

pub(super) fn parse(opcode: Opcode, args: &mut Args<'_>) -> Result<InodeOp, ParseError> {
    Ok(match opcode {
        Opcode::Getattr => {
            let GetattrIn { getattr_flags, fh, .. } = args.fixed()?;
            InodeOp::Getattr { fh: (getattr_flags & GETATTR_FH != 0).then_some(Fh(fh)) }
        }
        Opcode::Setattr => InodeOp::Setattr { set: setattr(&args.fixed()?) },
        Opcode::Readlink => InodeOp::Readlink,
        Opcode::Statfs => InodeOp::Statfs,
        Opcode::Access => InodeOp::Access { mask: args.fixed::<AccessIn>()?.mask },
        Opcode::Statx => {
            let StatxIn { getattr_flags, fh, sx_flags, sx_mask, .. } = args.fixed()?;
            let fh = (getattr_flags & GETATTR_FH != 0).then_some(Fh(fh));
            InodeOp::Statx { fh, flags: sx_flags, mask: sx_mask }
        }
        Opcode::Syncfs => InodeOp::Syncfs,
        other => return Err(ParseError::Unknown(other as u32)),
    })
}

fn setattr(raw: &SetattrIn) -> SetAttr {
    let has = |flag: u32| raw.valid & flag != 0;
    let stamp = |secs: u64, nanos: u32| Timestamp { secs: secs as i64, nanos };
    let set_time = |at: u32, now: u32, stamp: Timestamp| match (has(now), has(at)) {
        (true, _) => Some(SetTime::Now),
        (false, true) => Some(SetTime::At(stamp)),
        (false, false) => None,
    };
    SetAttr {
        mode: has(FATTR_MODE).then_some(raw.mode),
        uid: has(FATTR_UID).then_some(raw.uid),
        gid: has(FATTR_GID).then_some(raw.gid),
        size: has(FATTR_SIZE).then_some(raw.size),
        atime: set_time(FATTR_ATIME, FATTR_ATIME_NOW, stamp(raw.atime, raw.atimensec)),
        mtime: set_time(FATTR_MTIME, FATTR_MTIME_NOW, stamp(raw.mtime, raw.mtimensec)),
        ctime: has(FATTR_CTIME).then_some(stamp(raw.ctime, raw.ctimensec)),
        fh: has(FATTR_FH).then_some(Fh(raw.fh)),
        lock_owner: has(FATTR_LOCKOWNER).then_some(raw.lock_owner),
        kill_suidgid: has(FATTR_KILL_SUIDGID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn now_wins_over_a_time_and_absent_fields_stay_none() {
        let raw = SetattrIn {
            valid: FATTR_ATIME | FATTR_ATIME_NOW | FATTR_MTIME | FATTR_KILL_SUIDGID,
            mtime: (-5i64) as u64,
            mtimensec: 7,
            mode: 0o777,
            ..SetattrIn::default()
        };
        let set = setattr(&raw);
        assert_eq!(set.atime, Some(SetTime::Now));
        assert_eq!(set.mtime, Some(SetTime::At(Timestamp { secs: -5, nanos: 7 })));
        assert_eq!((set.mode, set.size, set.fh, set.kill_suidgid), (None, None, None, true));
    }
}
