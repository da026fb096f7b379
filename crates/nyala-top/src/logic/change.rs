// SPDX-License-Identifier: Apache-2.0

//! What has changed between two rounds of samples.

use nyala_metrics::catalog::Source;
use nyala_mon::Round;
use nyala_mon::logic::series::{Field, Key, Kind};
use std::collections::BTreeMap;
use std::time::Duration;

/// Growth of counters in a second, and values of gauges, between two rounds.
pub struct Change<'a> {
    before: BTreeMap<&'a Key, i64>,
    /// By metric.
    now: BTreeMap<&'a str, Vec<(&'a Key, i64)>>,
    seconds: f64,
}

impl<'a> Change<'a> {
    /// Between two rounds that are so far apart.
    pub fn between(before: &'a Round, now: &'a Round, apart: Duration) -> Change<'a> {
        let all =
            |round: &'a Round| round.values().flat_map(|answered| &answered.values).map(|(key, value)| (key, *value));
        let mut by_metric: BTreeMap<&str, Vec<(&Key, i64)>> = BTreeMap::new();
        for (key, value) in all(now) {
            by_metric.entry(&key.metric).or_default().push((key, value));
        }
        Change { before: all(before).collect(), now: by_metric, seconds: apart.as_secs_f64().max(0.001) }
    }

    /// Everything of a metric: its series, and what they grew by in a second or are.
    pub fn of(&self, metric: &str, field: Field) -> impl Iterator<Item = (&Key, f64)> {
        let wanted = self.now.get(metric).into_iter().flatten().filter(move |(key, _)| key.field == field);
        wanted.map(|(key, now)| {
            let value = match key.kind {
                Kind::Counter => {
                    let then = self.before.get(key).copied().unwrap_or(0);
                    // One that is less than before began anew.
                    (if *now >= then { now - then } else { *now }) as f64 / self.seconds
                }
                Kind::Gauge | Kind::Peak => *now as f64,
            };
            (*key, key.shown(value))
        })
    }

    /// Its sum over the series that have something.
    pub fn sum(&self, metric: &str, field: Field, has: impl Fn(&Key) -> bool) -> f64 {
        self.of(metric, field).filter(|(key, _)| has(key)).map(|(_, value)| value).sum()
    }

    /// The largest of those.
    pub fn largest(&self, metric: &str, field: Field, has: impl Fn(&Key) -> bool) -> Option<f64> {
        self.of(metric, field).filter(|(key, _)| has(key)).map(|(_, value)| value).reduce(f64::max)
    }

    /// Distinct values of a label of metrics.
    pub fn labels(&self, metrics: &[&str], label: &str) -> Vec<String> {
        let of = metrics.iter().filter_map(|metric| self.now.get(metric)).flatten();
        let mut all: Vec<String> = of.filter_map(|(key, _)| label_of(key, label)).map(str::to_owned).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// The value of a label.
pub fn label_of<'a>(key: &'a Key, label: &str) -> Option<&'a str> {
    key.labels.iter().find(|(name, _)| name == label).map(|(_, value)| value.as_str())
}

/// Where requests are counted: their times, and those that failed.
pub fn requests(service: Source) -> Option<(&'static str, &'static str)> {
    Some(match service {
        Source::Mgmtd => ("nyala_mgmt_request_duration_seconds", "nyala_mgmt_request_errors"),
        Source::Meta => ("nyala_meta_request_duration_seconds", "nyala_meta_request_errors"),
        Source::Storage => ("nyala_storage_request_duration_seconds", "nyala_storage_request_errors"),
        Source::Mount => ("nyala_fuse_request_duration_seconds", "nyala_fuse_request_errors"),
        Source::Mon => return None,
    })
}
