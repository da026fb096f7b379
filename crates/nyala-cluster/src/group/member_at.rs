// SPDX-License-Identifier: Apache-2.0

//! How commands name a member, and what members' primaries say of them.

use crate::Command;
use minicbor::{Decode, Encode};
use nyala_wire::mgmt::MemberNews;
use nyala_wire::{GroupId, TargetId};
use serde::{Deserialize, Serialize};

/// A member of a group, in the epoch that the sender saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode, Serialize, Deserialize)]
pub struct MemberAt {
    /// The group.
    #[n(0)]
    pub group: GroupId,
    /// Its epoch as the sender knows it.
    #[n(1)]
    pub epoch: u32,
    /// The member.
    #[n(2)]
    pub target: TargetId,
}

impl MemberAt {
    /// The command that some news of this member ask for, from primary `by`.
    pub fn command(self, news: MemberNews, by: TargetId) -> Command {
        match news {
            MemberNews::NeedsResync => Command::MarkNeedsResync { member: self, by },
            MemberNews::ResyncStarted => Command::StartResync(self),
            MemberNews::Resynced => Command::MemberResynced(self),
        }
    }
}

impl Command {
    /// The other way round: what a primary tells management so that this is proposed. `None`: nothing that a primary asks for.
    pub fn member_news(&self) -> Option<(MemberAt, MemberNews)> {
        match self {
            Command::MarkNeedsResync { member, .. } => Some((*member, MemberNews::NeedsResync)),
            Command::StartResync(member) => Some((*member, MemberNews::ResyncStarted)),
            Command::MemberResynced(member) => Some((*member, MemberNews::Resynced)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_and_commands_say_the_same() {
        let member = MemberAt { group: GroupId(1), epoch: 2, target: TargetId(3) };
        for news in [MemberNews::NeedsResync, MemberNews::ResyncStarted, MemberNews::Resynced] {
            assert_eq!(member.command(news, TargetId(4)).member_news(), Some((member, news)));
        }
        assert_eq!(Command::Failover(member).member_news(), None);
    }
}
