// SPDX-License-Identifier: Apache-2.0

//! What the service counts of itself, and its page. Failure model: none of its own.

use crate::logic::history::History;
use crate::round::Round;
use nyala_metrics::catalog::{Source, mon as metrics};
use nyala_metrics::{Histogram, Page};
use std::collections::BTreeMap;

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Rounds taken.
    pub rounds: u64,
    /// How long they took.
    pub round: Histogram,
    /// By kind of process and whether it answered, in the last round.
    pub sources: BTreeMap<(Source, bool), u64>,
    /// Those that did not answer, of all rounds.
    pub failures: u64,
    /// Management answered in the last round.
    pub mgmt: bool,
    /// Failures of the disk.
    pub disk_errors: u64,
    /// Values that the database took.
    pub written: u64,
    /// Batches that it refused.
    pub refused: u64,
    /// Writes that failed.
    pub write_failures: u64,
    /// The last round that the database has.
    pub sent_ms: Option<u64>,
    /// Requests for the history.
    pub queries: u64,
}

impl Counters {
    /// Counts a round.
    pub fn add_round(&mut self, round: &Round, took_us: u64, mgmt: bool) {
        self.rounds += 1;
        self.round.add(took_us);
        self.mgmt = mgmt;
        self.sources.clear();
        for (instance, answered) in round {
            let answers = answered.failed.is_none();
            *self.sources.entry((instance.service, answers)).or_insert(0) += 1;
            self.failures += u64::from(!answers);
        }
    }

    /// The page.
    pub fn write(&self, page: &mut Page, history: &History) {
        nyala_scrape::process(page, Source::Mon);
        page.family(&metrics::ROUND).histogram(&[], &self.round.get());
        let mut sources = page.family(&metrics::SOURCES);
        for ((service, answers), count) in &self.sources {
            sources.value(&[&service.word(), if *answers { &"yes" } else { &"no" }], *count);
        }
        let lag = self.sent_ms.map(|sent| history.last_ms().unwrap_or(sent).saturating_sub(sent));
        page.family(&metrics::LAG).micros(&[], lag.unwrap_or(0) * 1000);
        for (metric, value) in [
            (&metrics::ROUNDS, self.rounds),
            (&metrics::FAILURES, self.failures),
            (&metrics::MGMT, self.mgmt.into()),
            (&metrics::SERIES, history.series() as u64),
            (&metrics::DROPPED, history.dropped_samples()),
            (&metrics::SKIPPED, history.skipped_rounds),
            (&metrics::MEMORY, history.memory() as u64),
            (&metrics::DISK, history.disk()),
            (&metrics::DISK_ERRORS, self.disk_errors),
            (&metrics::WRITTEN, self.written),
            (&metrics::REFUSED, self.refused),
            (&metrics::WRITE_FAILURES, self.write_failures),
            (&metrics::QUERIES, self.queries),
        ] {
            page.family(metric).value(&[], value);
        }
    }
}
