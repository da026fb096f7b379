// SPDX-License-Identifier: Apache-2.0

//! What a series is: a number of one service or mount, sampled again and again.

use nyala_metrics::catalog::Source;

/// Which number of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The value of a counter or a gauge.
    Value,
    /// Number of events of a histogram.
    Count,
    /// Sum of the times of a histogram.
    Sum,
    /// Median of the events since the sample before.
    P50,
    /// 99th percentile of those.
    P99,
}

impl Field {
    /// All of them.
    pub const ALL: [Field; 5] = [Field::Value, Field::Count, Field::Sum, Field::P50, Field::P99];

    /// Its name in databases and queries.
    pub fn word(self) -> &'static str {
        match self {
            Field::Value => "value",
            Field::Count => "count",
            Field::Sum => "sum",
            Field::P50 => "p50",
            Field::P99 => "p99",
        }
    }
}

/// How numbers of several moments become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Only goes up until its process starts anew: the last one.
    Counter,
    /// Goes up and down: the mean.
    Gauge,
    /// Says how bad it was: the largest.
    Peak,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Counter, Kind::Gauge, Kind::Peak];
}

/// A series. The order puts the fields of a metric beside each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Name of the metric, as `docs/metrics.md` has it.
    pub metric: String,
    /// What the process is.
    pub service: Source,
    /// Which one: a node's alias, or `host:/mount/point`.
    pub instance: String,
    /// Labels of the sample, by name.
    pub labels: Vec<(String, String)>,
    /// Which number.
    pub field: Field,
    /// How it is folded.
    pub kind: Kind,
    /// Whether it is kept in microseconds and shown in seconds.
    pub micros: bool,
}

/// Values are kept between this and its negative.
pub const LARGEST: i64 = 1 << 60;

impl Key {
    /// A kept value as people and databases want it.
    pub fn shown(&self, value: f64) -> f64 {
        if self.micros { value / 1e6 } else { value }
    }

    /// Whether it is the same metric of the same process with the same labels, and only another number of it.
    pub fn is_beside(&self, other: &Key) -> bool {
        (&self.metric, self.service, &self.instance, &self.labels)
            == (&other.metric, other.service, &other.instance, &other.labels)
    }

    /// What it occupies in memory, bytes, about.
    pub fn weight(&self) -> usize {
        let labels: usize = self.labels.iter().map(|(name, value)| name.len() + value.len() + 48).sum();
        std::mem::size_of::<Key>() + self.metric.len() + self.instance.len() + labels + 32
    }
}
