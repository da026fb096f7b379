// SPDX-License-Identifier: Apache-2.0

//! `Member`: the primary of a mirror group says what became of a member. `Refused`: somebody's connection was refused.
//!
//! **Failure model.** News are repeated, late, or of an epoch that is over: the cluster state compares epochs. A report may
//! be wrong or made up: it only makes management look for itself.

use crate::core::Core;
use crate::liveness;
use nyala_cluster::MemberAt;
use nyala_wire::error::WireError;
use nyala_wire::mgmt::{MemberNews, MgmtReply};
use nyala_wire::{NodeId, TargetId};
use std::sync::Arc;

pub(super) async fn news(
    core: &Core,
    member: MemberAt,
    by: TargetId,
    news: MemberNews,
) -> Result<MgmtReply, WireError> {
    core.propose(nyala_cluster::group::member_news::command(member, news, by)).await?;
    Ok(MgmtReply::Map(Box::new(core.view.state().map())))
}

pub(super) fn refused(core: &Arc<Core>, node: NodeId) -> MgmtReply {
    liveness::reported(core, node);
    MgmtReply::Done
}
