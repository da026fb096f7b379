// SPDX-License-Identifier: Apache-2.0

//! What primaries say of members, as commands.

use super::member_at::MemberAt;
use crate::Command;
use nyala_wire::TargetId;
use nyala_wire::mgmt::MemberNews;

/// The command that some news of a member ask for, from primary `by`.
pub fn command(member: MemberAt, news: MemberNews, by: TargetId) -> Command {
    match news {
        MemberNews::NeedsResync => Command::MarkNeedsResync { member, by },
        MemberNews::ResyncStarted => Command::StartResync(member),
        MemberNews::Resynced => Command::MemberResynced(member),
    }
}

/// The other way round: what a primary tells management so that this is proposed. `None`: nothing that a primary asks for.
pub fn news(command: &Command) -> Option<(MemberAt, MemberNews)> {
    match command {
        Command::MarkNeedsResync { member, .. } => Some((*member, MemberNews::NeedsResync)),
        Command::StartResync(member) => Some((*member, MemberNews::ResyncStarted)),
        Command::MemberResynced(member) => Some((*member, MemberNews::Resynced)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::GroupId;

    #[test]
    fn news_and_commands_say_the_same() {
        let member = MemberAt { group: GroupId(1), epoch: 2, target: TargetId(3) };
        for one in [MemberNews::NeedsResync, MemberNews::ResyncStarted, MemberNews::Resynced] {
            assert_eq!(news(&command(member, one, TargetId(4))), Some((member, one)));
        }
        assert_eq!(news(&Command::Failover(member)), None);
    }
}
