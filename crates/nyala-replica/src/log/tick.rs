// SPDX-License-Identifier: Apache-2.0

//! What time brings: sending again, giving up, bringing members back.

use super::LogMember;
use super::link::{Link, Mode};
use crate::role::MemberRole;
use nyala_cluster::Command;
use nyala_wire::TargetId;
use nyala_wire::map::MemberState;
use std::collections::BTreeMap;

impl LogMember {
    pub(super) fn tick(&mut self) {
        self.share_out();
        self.advance();
        if !self.leads() {
            return;
        }
        self.give_up();
        // Good members that have something else than what the others have.
        let odd = |(target, link): (&TargetId, &Link)| {
            let good = self.state_of(*target) == Some(MemberState::Good);
            (good && link.found.is_some() && matches!(link.mode, Mode::Unknown)).then_some(*target)
        };
        let odd: Vec<TargetId> = self.links.iter().filter_map(odd).filter(|_| self.term_record.is_some()).collect();
        odd.into_iter().for_each(|target| self.ask_mark(target));
        if self.role == MemberRole::Primary {
            self.begin_resyncs();
            let resynced: Vec<TargetId> = self.links.keys().copied().collect();
            resynced.into_iter().for_each(|target| {
                self.ask_resynced(target);
                self.ask_for_disk(target);
            });
        }
    }

    /// Members that answer nothing for too long, or whose disks do not.
    fn give_up(&mut self) {
        let (now_ms, limit_ms, want) = (self.now_ms, self.config.give_up_ms, self.want_durable);
        let mut late = Vec::new();
        for (target, link) in &mut self.links {
            let waits_for_disk = matches!(link.mode, Mode::Stream) && link.durable < want;
            link.disk_since_ms = waits_for_disk.then(|| link.disk_since_ms.unwrap_or(now_ms));
            let answer_since_ms = link.under_way.map(|(_, since_ms, _)| since_ms);
            if [answer_since_ms, link.disk_since_ms].into_iter().flatten().any(|since_ms| now_ms >= since_ms + limit_ms)
            {
                late.push(*target);
            }
        }
        late.into_iter().for_each(|target| self.ask_mark(target));
    }

    fn begin_resyncs(&mut self) {
        let Some(view) = self.view.clone().filter(|view| !view.group.resync_stopped) else { return };
        for target in self.others(|state| state == MemberState::NeedsResync) {
            let waits = |until: &BTreeMap<TargetId, u64>| until.get(&target).is_some_and(|at| self.now_ms < *at);
            if view.reachable.contains(&target) && !waits(&self.retry_at_ms) && !waits(&self.silent) {
                let member = self.member_at(target);
                self.ask(target, 1, Command::StartResync(member));
            }
        }
    }

    /// Its host refuses connections, or does not answer: there is no use in waiting.
    pub(super) fn refused(&mut self, target: TargetId) {
        let waits = self.links.get(&target).is_some_and(|link| link.under_way.is_some());
        if self.leads() && waits {
            self.ask_mark(target);
        }
    }
}
