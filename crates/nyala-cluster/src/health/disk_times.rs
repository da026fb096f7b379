// SPDX-License-Identifier: Apache-2.0

//! How long disks took lately, as services say it.

use super::whose::Whose;
use std::collections::BTreeMap;

/// A mean is of so many operations at least ...
const COUNT: u64 = 5;
/// ... or of two that took so long together.
const ENOUGH_US: u64 = 1_000_000;

/// What a disk is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskKind {
    /// Jobs of a storage target's worker threads.
    Job,
    /// Reads from the disk by network threads.
    Read,
    /// Syncs of chunk files.
    Sync,
    /// Syncs of the log.
    Log,
}

impl DiskKind {
    fn parse(word: &str) -> Option<DiskKind> {
        Some(match word {
            "job" => DiskKind::Job,
            "read" => DiskKind::Read,
            "sync" => DiskKind::Sync,
            "log" => DiskKind::Log,
            _ => return None,
        })
    }

    pub(super) fn one(self) -> &'static str {
        match self {
            DiskKind::Job => "a write or read",
            DiskKind::Read => "a read",
            DiskKind::Sync => "a sync of data",
            DiskKind::Log => "a sync of its log",
        }
    }
}

/// How many operations ended, and how long they took together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    /// How many.
    pub count: u64,
    /// All of them together, microseconds.
    pub us: u64,
}

impl Mean {
    /// Microseconds for one, if enough of them were done to say so.
    pub(super) fn each(self) -> Option<u64> {
        (self.count >= COUNT || (self.count >= 2 && self.us >= ENOUGH_US)).then(|| self.us / self.count)
    }
}

/// How long a disk took lately for one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskTimes {
    /// Whose disk.
    pub whose: Whose,
    /// What it was asked for.
    pub kind: DiskKind,
    /// In the last seconds.
    pub now: Mean,
    /// In as many seconds before.
    pub before: Mean,
    /// How long the oldest operation under way has taken, milliseconds.
    pub waiting_ms: u64,
}

impl DiskTimes {
    /// Out of the counters of a service, whose names are `disk.WHOSE.KIND.WHAT`.
    pub fn among(counters: &[(String, u64)]) -> Vec<DiskTimes> {
        let mut found = BTreeMap::new();
        for (name, value) in counters.iter().filter(|(name, _)| name.starts_with("disk.")) {
            let [_, whose, kind, what] = name.split('.').collect::<Vec<_>>()[..] else { continue };
            let (Some(whose), Some(kind)) = (Whose::parse(whose), DiskKind::parse(kind)) else { continue };
            let (now, before) = (Mean::default(), Mean::default());
            let times: &mut DiskTimes =
                found.entry((whose, kind)).or_insert(DiskTimes { whose, kind, now, before, waiting_ms: 0 });
            match what {
                "count" => times.now.count = *value,
                "us" => times.now.us = *value,
                "before_count" => times.before.count = *value,
                "before_us" => times.before.us = *value,
                "waiting_ms" => times.waiting_ms = *value,
                _ => {}
            }
        }
        found.into_values().collect()
    }
}
