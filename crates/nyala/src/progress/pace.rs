// SPDX-License-Identifier: Apache-2.0

//! How fast something goes, and how long it will take. Pure: the time is an argument.

use crate::units::human_bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// The rate is that of so long a time before now: what was fast an hour ago says nothing of the end.
const WINDOW: Duration = Duration::from_secs(20);
/// Over a shorter time there is no rate yet.
const SHORTEST: Duration = Duration::from_secs(1);
/// An end that is farther away is not worth a number.
const FARTHEST: Duration = Duration::from_secs(365 * 86_400);

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Bytes.
    Bytes,
    /// Things, by their name in the plural.
    Things(&'static str),
}

impl Counted {
    fn amount(self, count: u64) -> String {
        match self {
            Counted::Bytes => human_bytes(count),
            Counted::Things(name) => format!("{count} {name}"),
        }
    }

    fn a_second(self, rate: f64) -> String {
        match self {
            // A rate of a fraction of a byte is none.
            Counted::Bytes => format!("{}/s", human_bytes(rate as u64)),
            Counted::Things(_) if rate >= 10.0 => format!("{rate:.0}/s"),
            Counted::Things(_) if rate >= 0.1 => format!("{rate:.1}/s"),
            Counted::Things(_) => format!("{:.1}/min", rate * 60.0),
        }
    }
}

/// The last looks at how much is done.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    looks: VecDeque<(Duration, u64)>,
}

impl Pace {
    /// So much is done at this time since the beginning. What goes back (a service was started again) begins anew.
    pub fn note(&mut self, at: Duration, done: u64) {
        if self.looks.back().is_some_and(|(_, before)| done < *before) {
            self.looks.clear();
        }
        self.looks.push_back((at, done));
        while self.looks.len() > 2 && self.looks.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= WINDOW)
        {
            self.looks.pop_front();
        }
    }

    /// So many a second; `None` while nobody can say.
    pub fn rate(&self) -> Option<f64> {
        let ((from, first), (to, last)) = (self.looks.front()?, self.looks.back()?);
        let took = to.saturating_sub(*from);
        (took >= SHORTEST).then(|| (last - first) as f64 / took.as_secs_f64())
    }

    /// How long the rest takes at this rate; `None` while nobody can say.
    pub fn remaining(&self, total: u64) -> Option<Duration> {
        let (rate, (_, done)) = (self.rate().filter(|rate| *rate > 0.0)?, self.looks.back()?);
        let seconds = total.saturating_sub(*done) as f64 / rate;
        (seconds < FARTHEST.as_secs_f64()).then(|| Duration::from_secs_f64(seconds))
    }

    /// All of it in a line. A total that is reached before the end was an estimate, and is not shown.
    pub fn line(&self, what: &str, unit: Counted, total: Option<u64>) -> String {
        let done = self.looks.back().map_or(0, |(_, done)| *done);
        let total = total.filter(|total| *total >= done && *total > 0);
        let mut line = format!("{what}: {}", unit.amount(done));
        if let Some(total) = total {
            let percent = u128::from(done) * 100 / u128::from(total);
            line += &format!(" of {} ({percent} %)", unit.amount(total));
        }
        if let Some(rate) = self.rate() {
            line += &format!(", {}", unit.a_second(rate));
        }
        if let Some(left) = total.and_then(|total| self.remaining(total)) {
            line += &format!(", about {} left", duration(left));
        }
        line
    }

    /// The same in fewer letters, for a line that has to be short.
    pub fn brief(&self, what: &str, unit: Counted, total: u64) -> String {
        let done = self.looks.back().map_or(0, |(_, done)| *done);
        let percent = u128::from(done) * 100 / u128::from(total.max(1));
        let mut line = format!("{what}: {percent} % of {}", unit.amount(total));
        if let Some(rate) = self.rate() {
            line += &format!(", {}", unit.a_second(rate));
        }
        if let Some(left) = self.remaining(total) {
            line += &format!(", {} left", duration(left));
        }
        line
    }
}

/// A time in two units at most.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match seconds {
        0..=59 => format!("{seconds} s"),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..=86_399 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests;
