// SPDX-License-Identifier: Apache-2.0

//! OpenMetrics text, version 1.0.0.

use crate::buckets::{BOUNDS, Snapshot, bound};
use crate::metric::{Kind, Metric};
use crate::text::{Escaped, Seconds};
use std::fmt::{Display, Write};

/// A page that is being written. Each metric once, all its samples together.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    written: Vec<&'static str>,
}

/// A metric whose samples are being written.
pub struct Family<'a> {
    text: &'a mut String,
    metric: &'a Metric,
}

/// Writing into memory does not fail.
macro_rules! put {
    ($text:expr, $($what:tt)*) => { let _ = write!($text, $($what)*); };
}

impl Page {
    /// What the page is, for HTTP.
    pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// An empty page.
    pub fn new() -> Page {
        Page::default()
    }

    /// Begins a metric.
    ///
    /// # Panics
    ///
    /// The second time: Prometheus refuses such a page as a whole.
    pub fn family<'a>(&'a mut self, metric: &'a Metric) -> Family<'a> {
        assert!(!self.written.contains(&metric.name), "{} is written twice", metric.name);
        self.written.push(metric.name);
        put!(self.text, "# HELP {} {}\n", metric.name, Escaped(metric.help));
        put!(self.text, "# TYPE {} {}\n", metric.name, metric.kind.word());
        if let Some(unit) = metric.unit() {
            put!(self.text, "# UNIT {} {unit}\n", metric.name);
        }
        Family { text: &mut self.text, metric }
    }

    /// The whole page.
    pub fn finish(mut self) -> String {
        self.text.push_str("# EOF\n");
        self.text
    }
}

impl Family<'_> {
    /// A number, with the values of the labels in their order.
    pub fn value(&mut self, labels: &[&dyn Display], value: u64) {
        self.sample(labels, value);
    }

    /// A time in microseconds, which is written in seconds.
    pub fn micros(&mut self, labels: &[&dyn Display], us: u64) {
        self.sample(labels, Seconds(us));
    }

    fn sample(&mut self, labels: &[&dyn Display], value: impl Display) {
        let suffix = match self.metric.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.name(suffix, labels, None);
        put!(self.text, " {value}\n");
    }

    /// A histogram.
    pub fn histogram(&mut self, labels: &[&dyn Display], snapshot: &Snapshot) {
        let mut below = 0;
        for (bucket, count) in snapshot.buckets.iter().enumerate() {
            below += count;
            match bucket < BOUNDS {
                true => self.name("_bucket", labels, Some(&Seconds(bound(bucket)))),
                false => self.name("_bucket", labels, Some(&"+Inf")),
            }
            put!(self.text, " {below}\n");
        }
        self.name("_count", labels, None);
        put!(self.text, " {below}\n");
        self.name("_sum", labels, None);
        put!(self.text, " {}\n", Seconds(snapshot.sum_us));
    }

    fn name(&mut self, suffix: &str, labels: &[&dyn Display], bound: Option<&dyn Display>) {
        debug_assert_eq!(labels.len(), self.metric.labels.len(), "labels of {}", self.metric.name);
        put!(self.text, "{}{suffix}", self.metric.name);
        let named = self.metric.labels.iter().copied().zip(labels.iter().copied());
        let mut next = '{';
        for (label, value) in named.chain(bound.map(|bound| ("le", bound))) {
            put!(self.text, "{next}{label}=\"{}\"", Escaped(value));
            next = ',';
        }
        if next == ',' {
            self.text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATENCY: Metric =
        Metric { name: "a_duration_seconds", kind: Kind::Histogram, labels: &["op"], help: "Time \"of\" a\\b\nc" };
    const BYTES: Metric = Metric { name: "b_bytes", kind: Kind::Counter, labels: &[], help: "B" };

    #[test]
    fn a_page_byte_by_byte() {
        let mut page = Page::new();
        page.family(&BYTES).value(&[], 7);
        let mut snapshot = Snapshot { sum_us: 20_000_012, ..Snapshot::default() };
        (snapshot.buckets[1], snapshot.buckets[BOUNDS]) = (1, 1);
        page.family(&LATENCY).histogram(&[&"x\"\\\ny"], &snapshot);
        let text = page.finish();
        let begins = "# HELP b_bytes B\n# TYPE b_bytes counter\n# UNIT b_bytes bytes\nb_bytes_total 7\n\
            # HELP a_duration_seconds Time \\\"of\\\" a\\\\b\\nc\n# TYPE a_duration_seconds histogram\n# UNIT a_duration_seconds seconds\n\
            a_duration_seconds_bucket{op=\"x\\\"\\\\\\ny\",le=\"0.000008\"} 0\n\
            a_duration_seconds_bucket{op=\"x\\\"\\\\\\ny\",le=\"0.000016\"} 1\n";
        assert!(text.starts_with(begins), "{text}");
        let ends = "le=\"16.777216\"} 1\na_duration_seconds_bucket{op=\"x\\\"\\\\\\ny\",le=\"+Inf\"} 2\n\
            a_duration_seconds_count{op=\"x\\\"\\\\\\ny\"} 2\na_duration_seconds_sum{op=\"x\\\"\\\\\\ny\"} 20.000012\n# EOF\n";
        assert!(text.ends_with(ends), "{text}");
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_metric_is_written_once() {
        let mut page = Page::new();
        page.family(&BYTES).value(&[], 7);
        page.family(&BYTES).value(&[], 7);
    }
}
