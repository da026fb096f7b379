// SPDX-License-Identifier: Apache-2.0

//! What a metadata server has acknowledged and does not have on disk yet, kept to be sent again to a run that came back without it.
//!
//! **Failure model.** Replies come in any order, and late: also those of an earlier run when a later one has been heard of. A server may be
//! without news of its disk for long: what is kept has a limit, beyond which the oldest changes are left out, and count as lost if
//! a power cut takes them.

use crate::rpc::logic::acknowledged::LogMark;
use bytes::Bytes;
use nyala_wire::meta::Acknowledged;
use std::collections::BTreeMap;

/// Most bytes that are kept of one session. Servers write to disk every second.
const MAX_BYTES: usize = 64 << 20;
/// About what the map and the buffers take of each.
const AROUND: usize = 250;

/// What a reply says of the server's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is the run that is known.
    Same,
    /// The server was started again: it is to hear what is kept before anything else.
    NewRun,
    /// It is the late reply of an earlier run, of which the later one does not have this change.
    Lost,
}

/// A change as it was sent and answered.
#[derive(Clone, Debug)]
struct SentChange {
    request: Bytes,
    reply: Bytes,
}

/// What is kept of one session.
#[derive(Debug, Default)]
pub struct ReplayLog {
    /// The run that acknowledged it; 0: none was heard of.
    run: u32,
    durable: u64,
    /// By position and sequence number.
    changes: BTreeMap<(u64, u64), SentChange>,
    bytes: usize,
    left_out: u64,
    /// What is kept is being said to a later run.
    closed: bool,
    /// The run before, and up to which position the later one has what it acknowledged.
    before: (u32, u64),
}

impl ReplayLog {
    /// The run that acknowledged what is kept.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Nothing of it was left out but what lies at or before this position.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Everything is known to be there up to this position.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// A server has replied.
    pub fn heard(&mut self, mark: LogMark) -> Heard {
        if self.run == 0 {
            self.run = mark.run;
        }
        if mark.run == 0 {
            return Heard::Same;
        }
        if mark.run == self.run {
            if !self.closed {
                self.survived(mark.durable);
            }
            return if self.closed && mark.applied > self.durable { Heard::Lost } else { Heard::Same };
        }
        let (run, survived) = self.before;
        match mark.run > self.run {
            true => Heard::NewRun,
            false if mark.run == run && mark.applied <= survived => Heard::Same,
            false => Heard::Lost,
        }
    }

    /// A server has replied to a change.
    pub fn keep(&mut self, mark: LogMark, sequence: u64, request: &Bytes, reply: &[u8]) {
        if mark.run == 0 || mark.run != self.run || self.closed || mark.applied <= self.durable {
            return;
        }
        let kept = SentChange { request: request.clone(), reply: Bytes::copy_from_slice(reply) };
        self.bytes += size(&kept);
        if let Some(same) = self.changes.insert((mark.applied, sequence), kept) {
            self.bytes -= size(&same);
        }
        while self.bytes > MAX_BYTES {
            let Some(((position, _), oldest)) = self.changes.pop_first() else { break };
            self.bytes -= size(&oldest);
            self.left_out = position;
        }
    }

    /// The server has everything up to this position.
    pub fn survived(&mut self, position: u64) {
        self.durable = self.durable.max(position);
        while let Some(first) = self.changes.first_entry().filter(|first| first.key().0 <= self.durable) {
            self.bytes -= size(&first.remove());
        }
    }

    /// A later run is told what is kept: what the earlier one says from now on comes too late.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// What the server is to do again, in its order: those whose sequence numbers are `wanted`.
    pub fn changes(&self, wanted: impl Fn(u64) -> bool) -> impl Iterator<Item = (u64, Acknowledged)> {
        self.changes.iter().filter(move |((_, sequence), _)| wanted(*sequence)).map(|(&(position, sequence), kept)| {
            let (request, reply) = (kept.request.to_vec().into(), kept.reply.to_vec().into());
            (sequence, Acknowledged { position, request, reply })
        })
    }

    /// A later run has done everything again, and has that on disk.
    pub fn done_again(&mut self, run: u32) {
        *self = ReplayLog { run, before: (self.run, self.durable), ..ReplayLog::default() };
    }

    /// The session has ended, and with it what was done under it and not yet on disk.
    pub fn forget(&mut self) {
        *self = ReplayLog::default();
    }
}

fn size(kept: &SentChange) -> usize {
    AROUND + kept.request.len() + kept.reply.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(run: u32, durable: u64, applied: u64) -> LogMark {
        LogMark { run, durable, applied }
    }

    fn sent_changes(log: &ReplayLog) -> Vec<(u64, u64)> {
        log.changes(|_| true).map(|(sequence, change)| (change.position, sequence)).collect()
    }

    fn keep(log: &mut ReplayLog, mark: LogMark, sequence: u64) {
        assert_eq!(log.heard(mark), Heard::Same);
        log.keep(mark, sequence, &Bytes::from_static(b"request"), b"reply");
    }

    #[test]
    fn what_is_not_on_disk_is_kept_in_the_order_of_the_log() {
        let mut log = ReplayLog::default();
        keep(&mut log, mark(3, 1, 7), 2);
        keep(&mut log, mark(3, 1, 5), 1);
        keep(&mut log, mark(3, 1, 1), 3);
        assert_eq!(sent_changes(&log), [(5, 1), (7, 2)], "what was on disk with its reply is not kept");
        assert_eq!(log.heard(mark(3, 6, 6)), Heard::Same);
        assert_eq!(sent_changes(&log), [(7, 2)]);
        assert_eq!(log.heard(mark(0, 0, 0)), Heard::Same, "one that does not say");
        log.forget();
        assert!(log.is_empty() && log.run() == 0 && log.bytes == 0);
    }

    #[test]
    fn another_run_is_heard_of_once_and_late_replies_of_the_run_before_count_if_they_survived() {
        let mut log = ReplayLog::default();
        keep(&mut log, mark(3, 1, 5), 1);
        keep(&mut log, mark(3, 1, 7), 2);
        assert_eq!(log.heard(mark(4, 5, 5)), Heard::NewRun);
        assert_eq!(sent_changes(&log), [(5, 1), (7, 2)], "until it has said how much it has");
        log.survived(5);
        log.close();
        assert_eq!(sent_changes(&log), [(7, 2)]);
        assert_eq!((log.heard(mark(3, 1, 4)), log.heard(mark(3, 8, 8))), (Heard::Same, Heard::Lost));
        log.keep(mark(3, 1, 8), 3, &Bytes::new(), b"");
        assert_eq!(sent_changes(&log), [(7, 2)], "it was not said");
        log.done_again(4);
        assert_eq!((log.heard(mark(4, 8, 8)), log.is_empty()), (Heard::Same, true));
        assert_eq!(log.heard(mark(3, 1, 5)), Heard::Same);
        assert_eq!(log.heard(mark(3, 1, 8)), Heard::Lost);
        assert_eq!(log.heard(mark(2, 1, 1)), Heard::Lost);
        keep(&mut log, mark(4, 8, 9), 3);
        assert_eq!(sent_changes(&log), [(9, 3)]);
    }

    #[test]
    fn the_oldest_goes_when_there_is_too_much() {
        let mut log = ReplayLog::default();
        let request = Bytes::from(vec![0; MAX_BYTES / 4]);
        assert_eq!(log.heard(mark(1, 0, 0)), Heard::Same);
        (1..=4).for_each(|at| log.keep(mark(1, 0, at), at, &request, b""));
        assert_eq!((sent_changes(&log), log.left_out()), (vec![(2, 2), (3, 3), (4, 4)], 1));
    }
}
