// SPDX-License-Identifier: Apache-2.0

//! Operations on what a split directory and its fragments have in common, as transactions. Pure.

use crate::change::{Change, Fault, Step};
use crate::ns::{self, Env};
use nyala_wire::meta::{MetaOp, MetaReply};
use nyala_wire::meta_tx::TxPart;
use nyala_wire::{ErrorCode, InodeId};

/// The parts of an operation that changes what a directory and its fragments have in common, and its reply.
pub fn common_parts(change: &mut Change, env: &Env, dir: InodeId, op: &MetaOp) -> Step<(Vec<TxPart>, MetaReply)> {
    let fragments = change.dir(dir)?.1.fragments().iter().map(|fragment| fragment.inode);
    let all: Vec<InodeId> = std::iter::once(dir).chain(fragments).collect();
    let part = |inode: InodeId| match op {
        MetaOp::SetAttr { set, .. } => Ok(TxPart::SetAttr { inode, set: set.clone() }),
        MetaOp::SetXattr { name, value, kill_sgid, .. } => {
            let (name, value, kill_sgid) = (name.clone(), Some(value.clone()), *kill_sgid);
            Ok(TxPart::SetAcl { inode, name, value, kill_sgid })
        }
        MetaOp::RemoveXattr { name, .. } => {
            Ok(TxPart::SetAcl { inode, name: name.clone(), value: None, kill_sgid: false })
        }
        MetaOp::SetPattern { pattern, .. } => Ok(TxPart::SetPattern { inode, pattern: *pattern }),
        _ => Err(Fault::from(ErrorCode::BAD_MESSAGE)),
    };
    let parts = all.into_iter().map(part).collect::<Step<Vec<TxPart>>>()?;
    Ok((parts, ns::dispatch(change, env, op)?))
}
