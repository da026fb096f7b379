// SPDX-License-Identifier: Apache-2.0

//! One target's part in its group.
//!
//! | File | |
//! |---|---|
//! | `map`, `leave` | a newer map: roles change, rights go, duties come |
//! | `request` | clients' requests: who may be served |
//! | `lead`, `send`, `settle` | primary: changes and syncs, until they are everywhere |
//! | `follow`, `notes` | member: what the primary sends |
//! | `read` | reads, at every good member |
//! | `disk` | turns, intents, the ends of disk work |
//! | `recovery` | a new primary's first duty |
//! | `copy`, `resync`, `listing` | regions for members that lack them |
//! | `tick` | what time brings: sending again, giving up, closing intents |

mod common;
mod copy;
mod disk;
mod follow;
mod lead;
mod leave;
mod listing;
mod map;
mod notes;
mod read;
mod recovery;
mod request;
mod resync;
mod send;
mod settle;
mod tick;
mod under_way;
mod work;

#[cfg(test)]
mod tests;

use crate::clients::Clients;
use crate::config::Config;
use crate::effect::Effect;
use crate::input::{Input, Job, View};
use crate::message::{Change, Origin};
use crate::numbers::ByNumber;
use crate::progress::Progress;
use crate::range_locks::RangeLocks;
use crate::regions::RegionSet;
use crate::role::MemberRole;
use crate::rows::Row;
use crate::rules::{Rule, broken};
use crate::share::Share;
use crate::tracking::Tracking;
use nyala_wire::{GroupId, MapVersion, TargetId};
use std::collections::BTreeMap;
use under_way::{CommitNotice, Pending, Recovery, Resync};
use work::{Stage, Work};

/// A member of a mirror group.
#[derive(Clone, Debug)]
pub struct Member {
    me: TargetId,
    group: GroupId,
    config: Config,
    broken: Option<Rule>,
    now_us: u64,
    now_ms: u64,
    view: Option<View>,
    role: MemberRole,
    lease: (u64, MapVersion),
    track: Tracking,
    range_locks: RangeLocks,
    work: BTreeMap<u64, Work>,
    jobs: ByNumber<Job, (u64, Stage)>,
    /// Last number given to work, jobs and tickets.
    last: u64,
    /// Our disk failed in a change: as primary we step down, if another good member can serve.
    failing: bool,
    /// When something was asked of management last.
    asked: BTreeMap<(TargetId, u8), u64>,
    // Of a primary.
    clients: Clients,
    /// Clients that are silent are looked for then.
    expire_at_ms: u64,
    /// The term whose primary told us which changes are done.
    notes_of: u32,
    /// Noted changes of earlier terms whose regions are not agreed on.
    doubtful: Vec<(Origin, Change)>,
    /// Changes that the newest primary has, too.
    confirmed: Vec<Origin>,
    next_seq: u64,
    in_flight: BTreeMap<u64, u64>,
    notices: BTreeMap<TargetId, CommitNotice>,
    recovery: Recovery,
    resyncs: BTreeMap<TargetId, Resync>,
    retry_at_ms: BTreeMap<TargetId, u64>,
    /// Members that we cannot reach, and until when that is not tried.
    silent: BTreeMap<TargetId, u64>,
    share: Share,
    // Of a member that takes changes.
    committed_below: u64,
    pending: BTreeMap<u64, Pending>,
    // Closing of intents.
    closing: Option<RegionSet>,
    flush_at_ms: u64,
    out: Vec<Effect>,
}

impl Member {
    /// A member with what it remembered on disk.
    pub fn open(me: TargetId, group: GroupId, config: Config, rows: impl IntoIterator<Item = Row>) -> Member {
        Member {
            me,
            group,
            config,
            broken: None,
            now_us: 0,
            now_ms: 0,
            view: None,
            role: MemberRole::Unknown,
            lease: (0, MapVersion(0)),
            track: Tracking::load(rows, config.max_runs),
            range_locks: RangeLocks::default(),
            work: BTreeMap::new(),
            jobs: ByNumber::default(),
            last: 0,
            failing: false,
            asked: BTreeMap::new(),
            clients: Clients::default(),
            expire_at_ms: 0,
            notes_of: 0,
            doubtful: Vec::new(),
            confirmed: Vec::new(),
            next_seq: 1,
            in_flight: BTreeMap::new(),
            notices: BTreeMap::new(),
            recovery: Recovery::default(),
            resyncs: BTreeMap::new(),
            retry_at_ms: BTreeMap::new(),
            silent: BTreeMap::new(),
            share: Share::new(config.share),
            committed_below: 0,
            pending: BTreeMap::new(),
            closing: None,
            flush_at_ms: 0,
            out: Vec::new(),
        }
    }

    /// Breaks a rule, for the simulator.
    #[cfg(feature = "mutations")]
    pub fn break_rule(&mut self, rule: Rule) {
        self.broken = Some(rule);
    }

    /// Something happens at `now_us` (microseconds of a monotonic clock); what is to be done about it.
    pub fn handle(&mut self, now_us: u64, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.handle_into(now_us, input, &mut effects);
        effects
    }

    /// The same in memory that is used again: what is to be done is appended.
    pub fn handle_into(&mut self, now_us: u64, input: Input, effects: &mut Vec<Effect>) {
        self.now_us = self.now_us.max(now_us);
        self.now_ms = self.now_us / 1000;
        match input {
            Input::Map(view) => self.map(view),
            Input::Lease { until_ms, version } => self.renewed(until_ms, version),
            Input::Request(request) => self.request(request),
            Input::Message { from, envelope, payload } => self.message(from, envelope, payload),
            Input::Refused { target } => self.refused(target),
            Input::Silent { target, until_ms } => {
                self.silent.insert(target, until_ms);
                self.refused(target);
            }
            Input::Done { job, ok, last, bytes } => self.done(job, ok, last, bytes),
            Input::Listed { of, after, files } => self.listed(of, after, files),
            Input::Tick => self.tick(),
        }
        effects.append(&mut self.out);
    }

    /// What it is now.
    pub fn role(&self) -> MemberRole {
        self.role
    }

    /// Epoch and term of the newest map that it has seen.
    pub fn epoch(&self) -> Option<(u32, u32)> {
        self.view.as_ref().map(|v| (v.group.epoch, v.group.term))
    }

    /// Whether its lease lets it serve at `now_ms`.
    pub fn has_lease(&self, now_ms: u64) -> bool {
        let version = self.view.as_ref().map_or(MapVersion(0), |v| v.version);
        let lease = now_ms < self.lease.0 && version >= self.lease.1;
        lease || broken(self.broken, Rule::NeedLease)
    }

    /// Pieces of work under way, disk work apart that nobody waits for.
    pub fn busy(&self) -> usize {
        self.work.len() + self.pending.len()
    }

    /// Whether nothing that it remembers says that members may differ.
    pub fn is_clean(&self) -> bool {
        self.track.is_clean()
    }

    /// Regions with intents, regions of which nobody knows, and dirty regions by member.
    pub fn tracked(&self) -> (u64, u64, Vec<(TargetId, u64)>) {
        self.track.counts()
    }

    /// How far the resync of each member is; of a primary only.
    pub fn progress(&self) -> Vec<(TargetId, Progress)> {
        self.resyncs.iter().map(|(target, resync)| (*target, self.progress_of(resync))).collect()
    }
}
