// SPDX-License-Identifier: Apache-2.0

//! What stores say for metrics.

use crate::tree::page::PAGE_BYTES;
use crate::{Stats, Store};
use nyala_metrics::catalog::store as metrics;
use nyala_metrics::{Histogram, Metric, Page, Recent};
use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long syncs of the log and checkpoints took, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Times {
    sync: Histogram,
    checkpoint: Histogram,
    /// Syncs of the log.
    pub log: Recent,
}

impl Times {
    pub fn synced(&self, time: Duration) {
        self.sync.add(micros(time));
    }

    pub fn checkpointed(&self, time: Duration) {
        self.checkpoint.add(micros(time));
    }

    pub fn syncs(&self) -> u64 {
        self.sync.get().count()
    }

    pub fn checkpoints(&self) -> u64 {
        self.checkpoint.get().count()
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// What tells whether a store's disk is well, as counters by name: how long syncs of the log took lately (`disk.WHOSE.log.WHAT`),
/// whether there is room, and what the tables take (`store.WHOSE.WHAT`).
pub fn counters(whose: &dyn Display, store: &Store) -> Vec<(String, u64)> {
    let mut counters = store.times().log.lately(Instant::now()).counters(whose, "log");
    let condition = store.condition();
    let mut put = |what: &str, value: u64| counters.push((format!("store.{whose}.{what}"), value));
    if let Some(disk) = condition.disk {
        put("free_bytes", disk.bytes);
        put("total_bytes", disk.total_bytes);
    }
    put("must_not_grow", condition.must_not_grow.into());
    put("checkpoint_fails", condition.checkpoint_fails.into());
    put("stopped", condition.stopped.into());
    let stats = store.stats();
    put("damaged_places", stats.damaged_places);
    put("table_bytes", stats.used_bytes);
    counters
}

/// Writes what several stores count, each under its name.
pub fn write(page: &mut Page, stores: &[(&dyn Display, &Store)]) {
    let all: Vec<(&dyn Display, Stats, &Times)> =
        stores.iter().map(|(name, store)| (*name, store.stats(), store.times())).collect();
    let mut each = |metric: &Metric, value: fn(&Stats) -> u64| {
        let mut family = page.family(metric);
        all.iter().for_each(|(name, stats, _)| family.value(&[name], value(stats)));
    };
    each(&metrics::RECORDS, |stats| stats.applied.0);
    each(&metrics::UNSYNCED, |stats| stats.applied.0.saturating_sub(stats.durable.0));
    each(&metrics::CHECKPOINT_FAILURES, |stats| stats.checkpoint_failures);
    each(&metrics::SCRUBBED, |stats| stats.scrubbed_pages * PAGE_BYTES as u64);
    each(&metrics::DAMAGED, |stats| stats.damaged_places);
    each(&metrics::SEGMENTS, |stats| stats.segments);
    each(&metrics::MEMORY, |stats| stats.active_bytes + stats.frozen_bytes);
    each(&metrics::TABLES, |stats| stats.used_bytes);
    let kept: Vec<(u64, u64)> = stores.iter().map(|(_, store)| store.kept_bytes()).collect();
    let mut cache = page.family(&metrics::CACHE);
    all.iter().zip(&kept).for_each(|((name, ..), (cached, _))| cache.value(&[name], *cached));
    let mut buffer = page.family(&metrics::LOG_BUFFER);
    all.iter().zip(&kept).for_each(|((name, ..), (_, buffered))| buffer.value(&[name], *buffered));
    let mut sync = page.family(&metrics::SYNC);
    all.iter().for_each(|(name, _, times)| sync.histogram(&[name], &times.sync.get()));
    let mut checkpoint = page.family(&metrics::CHECKPOINT);
    all.iter().for_each(|(name, _, times)| checkpoint.histogram(&[name], &times.checkpoint.get()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Machine;
    use crate::{Batch, Options};
    use nyala_metrics::parse::parse;

    #[test]
    fn syncs_and_checkpoints_are_counted_with_their_times() {
        let machine = Machine::new(1);
        let options = Options { manual: true, ..Options::default() };
        let (store, _) = Store::open_with(machine.disk(), machine.ordered(), options).unwrap();
        store.apply(Batch::new().put("key", [1])).unwrap();
        let mut page = Page::new();
        write(&mut page, &[(&7, &store)]);
        let before = parse(&page.finish()).unwrap();
        assert_eq!(before["nyala_store_unsynced_records"].samples[0].value, 1.0);
        store.checkpoint_blocking().unwrap();
        let mut page = Page::new();
        write(&mut page, &[(&7, &store)]);
        let after = parse(&page.finish()).unwrap();
        assert_eq!(after.len(), metrics::ALL.len());
        let value = |name: &str, suffix: &str| {
            let sample = after[name].samples.iter().find(|sample| sample.suffix == suffix).unwrap();
            assert_eq!(sample.labels["store"], "7");
            sample.value
        };
        assert_eq!(value("nyala_store_unsynced_records", ""), 0.0);
        assert_eq!(value("nyala_store_sync_duration_seconds", "_count"), 1.0);
        assert_eq!(value("nyala_store_checkpoint_duration_seconds", "_count"), 1.0);
        assert_eq!(value("nyala_store_records", "_total"), 1.0);
        assert!(value("nyala_store_log_buffer_bytes", "") > 0.0, "the record was in it");
    }
}
