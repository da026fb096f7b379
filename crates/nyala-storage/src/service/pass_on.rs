// SPDX-License-Identifier: Apache-2.0

//! Requests of who does not reach a mirror group's primary: a member that it does reach passes them on.
//!
//! **Failure model.** As between the sender and the primary: lost, late, repeated; the sender's number makes it one change. The primary takes
//! this server for the sender, and servers may do more than clients: so the sender's right is looked at here, before. Nothing is
//! passed on twice: what goes on says so no more, and who gets it is the primary, or refuses by the epoch. The primary cannot be
//! reached from here either: the sender hears that, and asks again.

use nyala_transport::member::Member;
use nyala_transport::{Endpoint, Frame, HandshakeConfig, Pool, PoolOptions, Reply, Request};
use nyala_wire::frame::flags;
use nyala_wire::map::Group;
use nyala_wire::mirror::GroupHeader;
use nyala_wire::{ErrorCode, GroupId, TargetId, WireError, message_type};
use std::time::Duration;

/// Longest wait for the primary; the sender asks again.
const WITHIN: Duration = Duration::from_secs(10);
/// What of a reply's flags is the service's.
const SERVICE_FLAGS: u32 = flags::ERROR | 0xffff_0000;

/// The way to primaries, of one core.
pub(super) struct PassOn {
    member: Member,
    pool: Pool,
}

impl PassOn {
    pub(super) fn new(member: Member, handshake: HandshakeConfig) -> PassOn {
        PassOn { member, pool: Pool::new(handshake, PoolOptions::default()) }
    }

    /// The primary that a request is to be passed on to, as it asks for; `None`: it is to be done here.
    pub(super) fn wanted(&self, request: &Frame) -> Result<Option<TargetId>, WireError> {
        let (header, _) = GroupHeader::split(&request.body)?;
        let to = || self.member.map().group(GroupId(header.group.get())).and_then(Group::primary);
        Ok(if header.pass_on.get() == 0 { None } else { to() })
    }

    /// The primary's reply to a request.
    pub(super) async fn call(&self, primary: TargetId, request: &Frame) -> Result<Reply, WireError> {
        let (header, inner) = GroupHeader::split(&request.body)?;
        let map = self.member.map();
        let away = |why: &dyn std::fmt::Display| {
            ErrorCode::NOT_READY.with(format!("target {primary} cannot be reached from here either: {why}"))
        };
        let node = map.node_of(primary).ok_or_else(|| away(&"it is not in the cluster map"))?;
        let endpoint = Endpoint { addresses: node.addresses.clone() };
        let body = GroupHeader { pass_on: 0.into(), ..header }.wrap(inner);
        let onward = Request::new(message_type::STORAGE_GROUP, body)
            .at(request.header.map_version, request.header.group_epoch)
            .with_payload(Some(request.payload.clone()).into_iter().filter(|data| !data.is_empty()).collect())
            .with_timeout(WITHIN);
        let onward = Request { flags: request.header.flags & 0xffff_0000, ..onward };
        let frame = self.pool.call(&endpoint, onward).await.map_err(|error| away(&error))?;
        let reply = Reply {
            flags: frame.header.flags & SERVICE_FLAGS,
            group_epoch: frame.header.group_epoch,
            ..Reply::ok(frame.body)
        };
        Ok(reply.with_payload(Some(frame.payload).into_iter().filter(|data| !data.is_empty()).collect()))
    }
}
