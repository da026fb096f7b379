// SPDX-License-Identifier: Apache-2.0

//! What a metric is.

/// Its type in OpenMetrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only goes up, until its service starts again.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Latencies in seconds.
    Histogram,
    /// Text in labels; its value is 1.
    Info,
}

impl Kind {
    /// As OpenMetrics writes it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Info => "info",
        }
    }
}

/// A metric of the [catalogue](crate::catalog).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name, without the suffixes of samples (`_total`, `_bucket`, …).
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it says, one sentence without a full stop.
    pub help: &'static str,
}

const UNITS: [&str; 2] = ["seconds", "bytes"];

impl Metric {
    /// Its unit, which its name ends with; none for numbers of things.
    pub fn unit(&self) -> Option<&'static str> {
        let last = self.name.rsplit('_').next();
        UNITS.into_iter().find(|unit| last == Some(*unit))
    }
}

/// Declares metrics as constants, and `ALL` of a module.
macro_rules! metrics {
    ($($name:ident = $kind:ident $metric:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $name: crate::Metric = crate::Metric {
                name: $metric,
                kind: crate::Kind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        /// All of them.
        pub const ALL: &[&crate::Metric] = &[$(&$name),*];
    };
}
pub(crate) use metrics;
