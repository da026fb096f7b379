// SPDX-License-Identifier: Apache-2.0

//! Which inodes an operation of a client names by number.

use crate::codec;
use crate::error::WireError;
use crate::ids::InodeId;
use crate::meta::{MetaOp, MetaRequest, Replay};

/// Every inode that an operation names, those of requests within it included, in no order and perhaps twice. Names in directories are found by
/// servers, and name no number. A request within it that cannot be read is an error.
pub fn named_inodes(op: &MetaOp) -> Result<Vec<InodeId>, WireError> {
    match op {
        MetaOp::Replay(Replay { changes, open, .. }) => {
            let mut named = open.clone();
            for change in changes {
                add_named(&codec::decode::<MetaRequest>(&change.request)?.op, &mut named);
            }
            Ok(named)
        }
        op => {
            let mut named = Vec::new();
            add_named(op, &mut named);
            Ok(named)
        }
    }
}

/// Those that name several, or none though others have a routing inode. All others name that one.
fn add_named(op: &MetaOp, named: &mut Vec<InodeId>) {
    match op {
        MetaOp::DelegationPoll { kept, moving, .. } => {
            named.extend(kept.iter().map(|delegation| delegation.inode));
            named.extend(moving);
        }
        MetaOp::DelegationReturn { delegations } => named.extend(delegations.iter().map(|one| one.inode)),
        MetaOp::GetAttrs { inodes } => named.extend(inodes),
        MetaOp::PutInlines { puts } => named.extend(puts.iter().map(|put| put.inode)),
        MetaOp::Rename(rename) => named.extend([rename.from_parent, rename.to_parent]),
        MetaOp::Link { inode, parent, .. } => named.extend([*inode, *parent]),
        one => named.extend(one.routing_inode()),
    }
}
