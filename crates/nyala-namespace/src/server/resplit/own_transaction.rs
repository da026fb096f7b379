// SPDX-License-Identifier: Apache-2.0

//! A transaction that no client asks for.

use crate::change::Fault;
use crate::server::state::State;
use crate::server::transaction::Transaction;
use crate::sessions::Leave;
use crate::tx::Plan;
use crate::tx::resplit::Resplit;
use nyala_wire::meta::{MetaOp, MetaRequest, Owner, Want};
use nyala_wire::{InodeId, SessionId, Time, WireError};

/// Begins it. What it makes is as old as the last change of the directory: it is none itself.
pub fn own_transaction(state: &mut State, resplit: Resplit) -> Result<(Transaction, MetaRequest), WireError> {
    let dir = resplit.dir;
    let changed = state.ground.look(None, |mut change| Ok(change.dir(dir)?.0.mtime)).map_err(Fault::refusal)?;
    let request = own_request(dir, changed);
    Ok((Transaction::new(state, Plan::Resplit(resplit), &request, Leave::OWN), request))
}

/// What stands for a client's request.
fn own_request(dir: InodeId, now: Time) -> MetaRequest {
    MetaRequest {
        session: SessionId(0),
        sequence: 0,
        acked_below: 0,
        owner: Owner::default(),
        now,
        op: MetaOp::GetAttr { inode: dir },
        want: Want::NOTHING,
        caller: None,
        user: None,
    }
}
