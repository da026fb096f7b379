// SPDX-License-Identifier: Apache-2.0

//! Requests from clients to metadata services.
//!
//! A changing request carries its session's next sequence number; the server keeps the reply until the client says
//! that it has it (`acked_below`), so a request sent again after a failure is answered, not done twice.

mod args;
mod caller;
mod content;
mod delegation;
mod fragment_repair;
mod lock;
mod new_entry;
mod op;
mod op_routing;
mod repair;
mod repaired;
mod replay;
mod reply;
mod server_repair;
mod set_time;

pub use args::*;
pub use caller::{Caller, MAX_CALLER_GROUPS};
pub use delegation::*;
pub use fragment_repair::FragmentRepair;
pub use lock::*;
pub use new_entry::{NewEntry, Owner};
pub use op::MetaOp;
pub use repair::Repair;
pub use replay::{Acknowledged, Replay};
pub use reply::*;
pub use server_repair::ServerRepair;
pub use set_time::SetTime;

use crate::cbor;
use crate::ids::SessionId;
use crate::time::Time;
use minicbor::{Decode, Decoder, Encode, decode};

/// Most entries that one listing reply holds.
pub const MAX_LIST_ENTRIES: u32 = 4096;
/// Most delegations in one [`MetaOp::DelegationReturn`], and in one reply to [`MetaOp::DelegationPoll`].
pub const MAX_DELEGATIONS: usize = 4096;
/// Most questions after locks in one reply to [`MetaOp::DelegationPoll`], and answers in one [`MetaOp::LockChecked`].
pub const MAX_LOCK_CHECKS: usize = 4096;
/// Most inodes in one [`MetaOp::GetAttrs`].
pub const MAX_GET_ATTRS: usize = 4096;
/// Most files in one [`MetaOp::PutInlines`].
pub const MAX_PUTS: usize = 64;
/// Longest symbolic link target in bytes (Linux `PATH_MAX` less the NUL).
pub const MAX_SYMLINK_BYTES: usize = 4095;
/// Longest value of an extended attribute in bytes (Linux `XATTR_SIZE_MAX`).
pub const MAX_XATTR_BYTES: usize = 65_536;
/// Largest file size in bytes (Linux `loff_t`).
pub const MAX_FILE_BYTES: u64 = i64::MAX as u64;

/// A request to a metadata service.
#[derive(Clone, Debug, PartialEq, Encode)]
pub struct MetaRequest {
    /// The client's session.
    #[n(0)]
    pub session: SessionId,
    /// Sequence number of a changing request within the session and server, from 1; 0 for one that changes nothing.
    #[n(1)]
    pub sequence: u64,
    /// The client has the replies to all its sequence numbers below this one.
    #[n(2)]
    pub acked_below: u64,
    /// Owner of what is made.
    #[n(3)]
    pub owner: Owner,
    /// The time by the client's clock, the stamp of all times that the operation sets: one clock for what one client does.
    #[n(4)]
    pub now: Time,
    /// What to do.
    #[n(5)]
    pub op: MetaOp,
    /// Delegations asked for.
    #[n(6)]
    pub want: Want,
    /// The user on whose behalf; absent: nobody in particular.
    #[n(7)]
    pub caller: Option<Box<Caller>>,
    /// The user of the client's host whose program made the client ask; absent: nobody's in particular. For counting alone: nothing is
    /// allowed or refused by it.
    #[n(8)]
    pub user: Option<u32>,
}

impl<'b, C> Decode<'b, C> for MetaRequest {
    fn decode(d: &mut Decoder<'b>, context: &mut C) -> Result<Self, decode::Error> {
        let what = "this is no request to a metadata service";
        let (fields, head) = cbor::read(d, what, |reader| {
            let fields = reader.array().filter(|fields| *fields >= 7)?;
            let numbers = (reader.number()?, reader.number()?, reader.number()?);
            Some((fields, (numbers, Owner::read(reader)?, reader.time()?)))
        })?;
        let ((session, sequence, acked_below), owner, now) = head;
        let (op, want) = (d.decode_with(context)?, d.decode_with(context)?);
        let caller = if fields > 7 { d.decode_with(context)? } else { None };
        let user = cbor::read(d, what, |reader| {
            let user = if fields > 8 { reader.optional(|reader| reader.number())? } else { None };
            reader.skip_from(9, fields).map(|()| user)
        })?;
        Ok(MetaRequest { session: SessionId(session), sequence, acked_below, owner, now, op, want, caller, user })
    }
}
