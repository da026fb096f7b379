// SPDX-License-Identifier: Apache-2.0

//! `Member`: the primary of a mirror group says what became of a member, or a member that it cannot read what it holds. `Refused`: somebody's connection was refused.
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
    let primary = core.view.state().group(member.group).and_then(|group| group.primary());
    let by = speaker(member.target, by, news, primary);
    core.propose(nyala_cluster::group::member_news::command(member, news, by)).await?;
    Ok(MgmtReply::Map(Box::new(core.view.state().map())))
}

/// On whose behalf it is proposed. A member that says of itself that it lacks something is believed as if its primary had said it: what is
/// in the log has to mean the same to management nodes of every build.
fn speaker(member: TargetId, by: TargetId, news: MemberNews, primary: Option<TargetId>) -> TargetId {
    let of_itself = by == member && news == MemberNews::NeedsResync;
    primary.filter(|_| of_itself).unwrap_or(by)
}

pub(super) fn refused(core: &Arc<Core>, node: NodeId) -> MgmtReply {
    liveness::reported(core, node);
    MgmtReply::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_speaks_of_itself_only_and_only_to_its_own_harm() {
        let (a, b) = (TargetId(1), TargetId(2));
        assert_eq!(speaker(b, b, MemberNews::NeedsResync, Some(a)), a);
        assert_eq!(speaker(a, a, MemberNews::NeedsResync, Some(a)), a, "the primary of itself");
        assert_eq!(speaker(a, b, MemberNews::NeedsResync, Some(a)), b, "of another: refused by the state");
        for news in [MemberNews::ResyncStarted, MemberNews::Resynced] {
            assert_eq!(speaker(b, b, news, Some(a)), b);
        }
    }
}
