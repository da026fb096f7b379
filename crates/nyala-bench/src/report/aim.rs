// SPDX-License-Identifier: Apache-2.0

//! A figure next to what it should be.

use super::table::figure;
use serde::{Deserialize, Serialize};

/// A figure and what it should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// What is measured.
    pub what: String,
    /// The figure; `None`: it was not measured.
    pub value: Option<f64>,
    /// What it should be at most, or at least.
    pub aim: f64,
    /// Unit of both.
    pub unit: String,
    /// The aim is a lower limit.
    pub at_least: bool,
    /// Reached.
    pub ok: bool,
    /// Why there is no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Aim {
    fn new(what: &str, value: Option<f64>, aim: f64, unit: &str, at_least: bool) -> Aim {
        let ok = value.is_some_and(|value| if at_least { value >= aim } else { value <= aim });
        Aim { what: what.to_owned(), value, aim, unit: unit.to_owned(), at_least, ok, why: None }
    }

    /// The same, saying why there is no figure, if there is none.
    pub fn because(self, why: &str) -> Aim {
        let why = self.value.is_none().then(|| why.to_owned());
        Aim { why, ..self }
    }

    /// Figure ÷ aim: reached up to 1 where less is better, from 1 on where more is.
    pub fn ratio(&self) -> Option<f64> {
        self.value.map(|value| value / self.aim)
    }

    /// How many times worse than the aim; below 1 is better.
    pub fn miss(&self) -> Option<f64> {
        self.ratio().map(|ratio| if self.at_least { 1.0 / ratio.max(1e-9) } else { ratio })
    }

    /// The figure with its unit.
    pub fn measured(&self) -> String {
        self.value.map_or("-".to_owned(), |value| format!("{} {}", figure(Some(value)), self.unit))
    }

    /// The aim with its sign and unit.
    pub fn wanted(&self) -> String {
        format!("{} {} {}", if self.at_least { "≥" } else { "≤" }, self.aim, self.unit)
    }

    /// In a word.
    pub fn result(&self) -> &'static str {
        if self.ok { "ok" } else { "MISS" }
    }
}

/// An aim that is an upper limit.
pub fn at_most(what: &str, value: Option<f64>, aim: f64, unit: &str) -> Aim {
    Aim::new(what, value, aim, unit, false)
}

/// An aim that is a lower limit.
pub fn at_least(what: &str, value: Option<f64>, aim: f64, unit: &str) -> Aim {
    Aim::new(what, value, aim, unit, true)
}
