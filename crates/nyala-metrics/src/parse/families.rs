// SPDX-License-Identifier: Apache-2.0

//! A page as it was read.

use std::collections::BTreeMap;

/// A metric as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Family {
    /// Its type.
    pub kind: String,
    /// Its unit; empty for none.
    pub unit: String,
    /// Its meaning.
    pub help: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// One number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// What follows the metric's name in the sample's: `_total`, `_bucket`, …
    pub suffix: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Value.
    pub value: f64,
}

/// A page by the names of its metrics.
pub type Families = BTreeMap<String, Family>;
