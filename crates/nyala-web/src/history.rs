// SPDX-License-Identifier: Apache-2.0

//! The last day of the whole cluster in a few numbers: an hour as it was sampled, a day in minutes. Bounded: about 200 KB.

use std::collections::VecDeque;

/// Figures of the whole cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals([f64; Line::ALL.len()]);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Bytes read from targets in a second.
    Read,
    /// Bytes written to targets in a second.
    Written,
    /// Requests to metadata services in a second.
    MetaRequests,
    /// Requests to storage services in a second.
    StorageRequests,
    /// 99th percentile of the slowest metadata service, seconds.
    MetaLatency,
    /// 99th percentile of the slowest storage service, seconds.
    StorageLatency,
}

impl Line {
    /// All of them.
    pub const ALL: [Line; 6] =
        [Line::Read, Line::Written, Line::MetaRequests, Line::StorageRequests, Line::MetaLatency, Line::StorageLatency];

    /// Whether the largest of several counts, not their mean.
    fn is_peak(self) -> bool {
        matches!(self, Line::MetaLatency | Line::StorageLatency)
    }
}

impl Totals {
    /// One figure.
    pub fn get(&self, line: Line) -> f64 {
        self.0[line as usize]
    }

    /// Sets one figure.
    pub fn set(&mut self, line: Line, value: f64) {
        self.0[line as usize] = value;
    }
}

/// The time that a chart shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// An hour.
    #[default]
    Hour,
    /// A day.
    Day,
}

impl Span {
    /// Its length, milliseconds.
    pub fn millis(self) -> u64 {
        match self {
            Span::Hour => 3_600_000,
            Span::Day => 86_400_000,
        }
    }
}

/// Points of a chart.
pub const POINTS: usize = 120;
/// Rounds that are kept as they were sampled: an hour of one every two seconds.
const ROUNDS: usize = 1800;
const MINUTE: u64 = 60_000;
/// Minutes of a day, and the one that is not over.
const MINUTES: usize = 24 * 60 + 1;

/// What was sampled.
#[derive(Clone, Debug, Default)]
pub struct History {
    rounds: VecDeque<(u64, Totals)>,
    minutes: VecDeque<Minute>,
}

/// What was sampled in a minute.
#[derive(Clone, Copy, Debug)]
struct Minute {
    starts_ms: u64,
    count: f64,
    sum: Totals,
    most: Totals,
}

impl History {
    /// A round was sampled. One that is not later than the last is left out.
    pub fn push(&mut self, at_ms: u64, totals: Totals) {
        if self.rounds.back().is_some_and(|(last, _)| *last >= at_ms) {
            return;
        }
        if self.rounds.len() == ROUNDS {
            self.rounds.pop_front();
        }
        self.rounds.push_back((at_ms, totals));
        let starts_ms = at_ms - at_ms % MINUTE;
        if self.minutes.back().is_none_or(|minute| minute.starts_ms != starts_ms) {
            if self.minutes.len() == MINUTES {
                self.minutes.pop_front();
            }
            let (sum, most) = (Totals::default(), Totals::default());
            self.minutes.push_back(Minute { starts_ms, count: 0.0, sum, most });
        }
        let Some(minute) = self.minutes.back_mut() else { return };
        minute.count += 1.0;
        for line in Line::ALL {
            minute.sum.set(line, minute.sum.get(line) + totals.get(line));
            minute.most.set(line, minute.most.get(line).max(totals.get(line)));
        }
    }

    /// [`POINTS`] values of the time until now; `None` where nothing was sampled.
    pub fn points(&self, line: Line, span: Span, now_ms: u64) -> Vec<Option<f64>> {
        let step = span.millis() / POINTS as u64;
        // Steps begin at multiples of their length, so that a line moves as a whole.
        let from = (now_ms - now_ms % step + step).saturating_sub(span.millis());
        let mut steps = vec![(0.0, 0.0); POINTS];
        let mut add = |at_ms: u64, value: f64, count: f64| {
            let at = at_ms.checked_sub(from).and_then(|since| usize::try_from(since / step).ok());
            let Some((sum, of)) = at.and_then(|at| steps.get_mut(at)) else { return };
            if line.is_peak() {
                (*sum, *of) = (f64::max(*sum, value / count), 1.0);
            } else {
                (*sum, *of) = (*sum + value, *of + count);
            }
        };
        match span {
            Span::Hour => self.rounds.iter().for_each(|(at, totals)| add(*at, totals.get(line), 1.0)),
            Span::Day => self.minutes.iter().for_each(|minute| match line.is_peak() {
                true => add(minute.starts_ms, minute.most.get(line), 1.0),
                false => add(minute.starts_ms, minute.sum.get(line), minute.count),
            }),
        }
        steps.into_iter().map(|(sum, count)| (count > 0.0).then(|| sum / count)).collect()
    }
}

#[cfg(test)]
mod tests;
