// SPDX-License-Identifier: Apache-2.0

//! Members that resync: those that lack only the newest records get those; others are given everything, in parts, while records go on.
//!
//! A part is what the tables hold in a range of keys as of some record: it is sent when the member has that record and before it has
//! the next one, so that it neither brings back what a record has changed nor lacks it. A copy that was interrupted goes on where it
//! was, if the records since then are still in memory. How fast parts follow each other is decided by what clients' requests take
//! meanwhile ([`crate::share`]).

use super::io::LogEffect;
use super::link::{CopyStage, Copying, Link, Mode, UnderWay};
use super::message::LogBody;
use super::position::Position;
use super::ranges::CopyState;
use super::recent::Record;
use super::{LogMember, LogRule};
use crate::progress::Progress;
use crate::share::UnderWay as UnderWayCopies;
use nyala_wire::TargetId;

impl LogMember {
    /// A resyncing member has said what it has.
    pub(super) fn begin_resync(&mut self, target: TargetId, position: Position, copying: Option<CopyState>) {
        let same =
            self.terms.contain(position, self.last()) || (self.breaks(LogRule::SameHistory) && copying.is_none());
        // One that may lack anything is given everything, or the rest of it.
        let whole = self.view.as_ref().is_some_and(|view| view.group.full.contains(&target));
        let shares = same && self.recent.follow(position.index) && !(whole && copying.is_none());
        let copying = copying.filter(|_| !self.breaks(LogRule::RememberCopy));
        self.last_copy += 1;
        // Numbers grow, also from one primary to the next.
        let fresh = (u64::from(self.epoch().map_or(0, |(epoch, _)| epoch)) << 32) | self.last_copy;
        let Some(link) = self.links.get_mut(&target) else { return };
        let begun = |copy, stage, cursor| Mode::Copy(Copying { copy, stage, cursor, bytes: 0, began_ms: self.now_ms });
        (link.mode, link.acked) = match copying {
            None if shares => (Mode::Stream, position.index),
            Some(CopyState { copy, cursor }) if shares => (begun(copy, CopyStage::Next, cursor), position.index),
            _ => (begun(fresh, CopyStage::Begin, Vec::new()), self.recent.last()),
        };
        link.durable = 0;
        if matches!(link.mode, Mode::Stream) {
            self.member_has(target, position.index, 0);
        }
    }

    /// Sends the beginning of a copy, or its next part.
    pub(super) fn send_copy(&mut self, target: TargetId) {
        let (now_ms, position) = (self.now_ms, self.position());
        let Some(link) = self.links.get_mut(&target) else { return };
        link.sent(UnderWay::Copy, now_ms);
        let Mode::Copy(copying) = &link.mode else { return };
        let copy = copying.copy;
        match &copying.stage {
            CopyStage::Begin => {
                link.acked = position.index;
                let terms = self.terms.iter().collect();
                self.send(target, LogBody::CopyBegin { copy, position, terms }, Vec::new());
            }
            CopyStage::Part { at, to, rows } => {
                let body = LogBody::CopyRows { copy, at: *at, from: copying.cursor.clone(), to: to.clone() };
                let rows = rows.clone();
                self.send(target, body, vec![rows]);
            }
            CopyStage::Next | CopyStage::Reading => {}
        }
    }

    /// The next part was read, as the tables are with the last record.
    pub(super) fn rows_read(&mut self, target: TargetId, from: &[u8], to: Vec<u8>, rows: Record) {
        let at = self.last();
        let Some(link) = self.links.get_mut(&target) else { return };
        if let Mode::Copy(copying) = &mut link.mode
            && matches!(copying.stage, CopyStage::Reading)
            && copying.cursor == from
        {
            copying.bytes += rows.len() as u64;
            self.share.sized(self.config.copy_bytes as u64, rows.len() as u64);
            copying.stage = CopyStage::Part { at, to, rows };
            self.pump(target);
        }
    }

    /// Copies take no more of what clients want than they may, and nothing while an operator has stopped them.
    pub(super) fn share_out(&mut self) {
        let copies = || self.links.values().filter_map(Link::copying);
        let under_way = UnderWayCopies {
            pending: !self.resync_stopped() && copies().next().is_some(),
            copies: copies().filter(|copying| copying.is_under_way()).count(),
            requests: usize::from(self.last() > self.committed),
        };
        self.share.tick(self.now_us, under_way);
    }

    /// An operator has stopped resync.
    pub(super) fn resync_stopped(&self) -> bool {
        self.view.as_ref().is_some_and(|view| view.group.resync_stopped)
    }

    /// How far the copies of everything are. The tables have about `total_bytes`.
    pub fn progress(&self, total_bytes: u64) -> Vec<(TargetId, Progress)> {
        let stopped = self.resync_stopped();
        let of = |(target, link): (&TargetId, &Link)| {
            let copying = link.copying()?;
            let left = total_bytes.saturating_sub(copying.bytes);
            Some((*target, Progress::of(copying.bytes, left, copying.began_ms, self.now_ms, stopped)))
        };
        self.links.iter().filter_map(of).collect()
    }

    /// The member has a part, or knows of the copy.
    pub(super) fn copied(&mut self, from: TargetId, copy: u64, cursor: Vec<u8>, done: bool) {
        let Some(link) = self.links.get_mut(&from) else { return };
        let Mode::Copy(copying) = &mut link.mode else { return };
        if copying.copy != copy {
            return;
        }
        match &copying.stage {
            CopyStage::Begin if cursor.is_empty() && !done => copying.stage = CopyStage::Next,
            CopyStage::Part { to, .. } if to.is_empty() && done => {
                link.mode = Mode::Stream;
                link.heard();
                let index = link.acked;
                return self.member_has(from, index, index);
            }
            CopyStage::Part { to, .. } if *to == cursor && !done => {
                copying.cursor = cursor;
                copying.stage = CopyStage::Next;
            }
            _ => return,
        }
        link.heard();
        self.share.copied(self.now_us);
        self.pump(from);
    }

    // --- at the member ---

    pub(super) fn take_copy_begin(&mut self, copy: u64, position: Position, terms: &[(u32, u64)]) {
        let state = CopyState { copy, cursor: Vec::new() };
        if copy <= self.newest_copy {
            // It was sent again. Only if nothing came of it yet it is answered, unless the shell is at it still.
            if self.incoming.is_empty() && self.copying.as_ref() == Some(&state) && self.position() == position {
                self.tell_copied();
            }
            return;
        }
        self.newest_copy = copy;
        self.terms = super::Terms::new(terms.iter().copied());
        self.recent = super::Recent::new(position.index + 1, self.config.recent_bytes);
        (self.written, self.durable) = (position.index, 0);
        self.copying = Some(state.clone());
        self.incoming.push_back(Some(Vec::new()));
        self.out.push(LogEffect::BeginCopy { state, position, terms: terms.to_vec() });
    }

    pub(super) fn take_rows(&mut self, copy: u64, at: u64, range: (Vec<u8>, Vec<u8>), rows: Record) {
        let (first, to) = range;
        let known = self.copying.as_ref().filter(|state| state.copy == copy);
        let Some(cursor) = known.map(|state| state.cursor.clone()) else { return self.misfit() };
        if !self.incoming.is_empty() {
            // It comes again while the shell is at it.
            return;
        }
        if !to.is_empty() && cursor >= to {
            return self.tell_copied();
        }
        if cursor != first || (at != self.last() && !self.breaks(LogRule::RowsInOrder)) {
            return self.misfit();
        }
        self.incoming.push_back(Some(to.clone()).filter(|to| !to.is_empty()));
        let last = self.last();
        self.out.push(LogEffect::PutRows { from: first, to, rows, last, copy });
    }

    /// The tables hold what a message of a copy brought.
    pub(super) fn copy_taken(&mut self) {
        let Some(taken) = self.incoming.pop_front() else { return };
        let Some(state) = &mut self.copying else { return };
        match taken {
            Some(cursor) => {
                state.cursor = cursor;
                self.tell_copied();
            }
            None => {
                let copy = state.copy;
                (self.copying, self.durable) = (None, self.written);
                self.tell(LogBody::Copied { copy, cursor: Vec::new(), done: true });
            }
        }
    }

    fn tell_copied(&mut self) {
        if let Some(CopyState { copy, cursor }) = self.copying.clone() {
            self.tell(LogBody::Copied { copy, cursor, done: false });
        }
    }
}
