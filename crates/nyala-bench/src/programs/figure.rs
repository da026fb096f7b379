// SPDX-License-Identifier: Apache-2.0

//! What is read of a program's output. Pure.

use super::kind::Program;
use serde::Serialize;
use thiserror::Error;

/// Bytes of a MiB.
pub const MIB: f64 = 1_048_576.0;

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// MiB per second, of all tasks together.
    Bandwidth,
    /// Operations per second, of all tasks together.
    Rate,
    /// Time until an operation is done, microseconds, on average.
    LatencyMean,
    /// The same, of 99 in 100 at most.
    LatencyP99,
}

impl Metric {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Metric; 4] = [Metric::Bandwidth, Metric::Rate, Metric::LatencyMean, Metric::LatencyP99];

    /// For a heading.
    pub fn title(self) -> &'static str {
        match self {
            Metric::Bandwidth => "Bandwidth",
            Metric::Rate => "Operations",
            Metric::LatencyMean => "Latency of an operation, mean",
            Metric::LatencyP99 => "Latency of an operation, 99 of 100",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Bandwidth => "MiB/s",
            Metric::Rate => "per s",
            Metric::LatencyMean | Metric::LatencyP99 => "µs",
        }
    }

    /// Its unit in a table that has all of them.
    pub fn label(self) -> &'static str {
        match self {
            Metric::LatencyMean => "µs, mean",
            Metric::LatencyP99 => "µs, p99",
            other => other.unit(),
        }
    }
}

/// A figure of one start of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// What was done.
    pub operation: &'static str,
    /// What it is of.
    pub metric: Metric,
    /// In the metric's unit.
    pub value: f64,
}

/// The output of one start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The program's version, where it says so.
    pub version: Option<String>,
    /// All figures that were wanted.
    pub figures: Vec<Figure>,
}

/// What is wanted of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Operations, by our names.
    pub operations: &'static [&'static str],
    /// What is measured of each.
    pub metric: Metric,
}

/// Why an output has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{program}: {problem}")]
pub struct ParseError {
    /// Whose output it is.
    pub program: Program,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an output.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// It has another form.
    #[error("the output is no {form}: {why}")]
    Form {
        /// What was looked for.
        form: &'static str,
        /// What the reader of that form says.
        why: String,
    },
    /// Something is not in it.
    #[error("the output has no {0}")]
    Missing(String),
    /// The program itself says that something went wrong, such as content that is not what was written.
    #[error("it says: {0}")]
    Said(String),
}

impl Problem {
    /// Something is not in the output.
    pub fn missing(what: impl Into<String>) -> Problem {
        Problem::Missing(what.into())
    }

    /// A figure that makes sense: rates and times are positive.
    pub fn positive(value: f64, what: impl FnOnce() -> String) -> Result<f64, Problem> {
        if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Problem::Missing(what())) }
    }
}
