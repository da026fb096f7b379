// SPDX-License-Identifier: Apache-2.0

//! What the samples of a failure study mean. Pure.

use crate::document::{Document, Table};
use serde::{Deserialize, Serialize};

const MIB: f64 = 1_048_576.0;
const P99: f64 = 0.99;
/// Shorter states have no ratios.
const SHORTEST_S: f64 = 1.0;

/// An operation of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When it began, seconds since the load did.
    pub start_s: f64,
    /// When it ended.
    pub end_s: f64,
    /// A write; else a read.
    pub write: bool,
    /// Its bytes.
    pub bytes: u64,
}

/// What the cluster is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All servers are there.
    Normal,
    /// One is away.
    Away,
    /// It is back and being brought up to date.
    Returned,
    /// It has everything again.
    Whole,
}

impl State {
    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            State::Normal => "normal",
            State::Away => "away",
            State::Returned => "returned",
            State::Whole => "whole",
        }
    }
}

/// From when on the cluster is in a state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Seconds since the load began.
    pub at_s: f64,
    /// The state.
    pub state: State,
}

/// What was seen on one directory.
pub struct Run {
    /// `mirrored` or `unmirrored`.
    pub directory: String,
    /// States, in order.
    pub marks: Vec<Mark>,
    /// When the last state ended.
    pub end_s: f64,
    /// How long after its return the server had everything again.
    pub whole_after_s: f64,
    /// Operations, by their end.
    pub samples: Vec<Sample>,
    /// Errors that the load saw.
    pub errors: Vec<String>,
}

/// One state in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateFigures {
    /// The state.
    pub state: State,
    /// How long it lasted.
    pub seconds: f64,
    /// Bytes of the writes that ended in it, MiB per second.
    pub write_mib_s: f64,
    /// The same of reads.
    pub read_mib_s: f64,
    /// 99 of 100 operations that ended in this state took at most so long.
    pub p99_ms: f64,
    /// The longest operation, or the longest that none of a kind ended.
    pub worst_pause_s: f64,
}

/// One directory in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// `mirrored` or `unmirrored`.
    pub directory: String,
    /// The worst pause, over all states.
    pub worst_pause_s: f64,
    /// Errors that the load saw.
    pub errors: Vec<String>,
    /// How long after its return the server had everything again.
    pub whole_after_s: f64,
    /// State by state.
    pub states: Vec<StateFigures>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The worst pause on the mirrored directory.
    pub worst_pause_s: f64,
    /// Number of errors that applications saw, on both.
    pub errors: usize,
    /// Mirrored by unmirrored, all servers there.
    pub mirrored_write_ratio: f64,
    /// Mirrored, a server away by all there.
    pub away_write_ratio: f64,
    /// The same of reads.
    pub away_read_ratio: f64,
    /// Mirrored, while it is brought up to date by all there; absent if that was too short to be measured.
    pub returned_write_ratio: Option<f64>,
    /// The same of reads.
    pub returned_read_ratio: Option<f64>,
    /// The same of both together.
    pub returned_ratio: Option<f64>,
    /// Directory by directory.
    pub runs: Vec<RunFigures>,
}

/// The longest operation of the kind that ended within `from..to`, or the longest time without the end of any, if that is longer.
fn pause(samples: &[Sample], write: bool, from: f64, to: f64) -> f64 {
    let inside = || samples.iter().filter(|s| s.write == write && s.end_s >= from && s.end_s < to);
    let mut worst = inside().map(|s| s.end_s - s.start_s).fold(0.0, f64::max);
    let mut last = from;
    for end in inside().map(|s| s.end_s).chain([to]) {
        worst = worst.max(end - last);
        last = end;
    }
    worst
}

fn percentile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * quantile).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

impl Run {
    /// States with their ends.
    pub fn spans(&self) -> impl Iterator<Item = (State, f64, f64)> + '_ {
        let ends = self.marks.iter().skip(1).map(|mark| mark.at_s).chain([self.end_s]);
        self.marks.iter().zip(ends).map(|(mark, end)| (mark.state, mark.at_s, end))
    }

    fn figures(&self) -> RunFigures {
        let state = |(state, from, to): (State, f64, f64)| {
            let inside: Vec<&Sample> = self.samples.iter().filter(|s| s.end_s >= from && s.end_s < to).collect();
            let seconds = to - from;
            let rate = |write: bool| {
                let bytes: u64 = inside.iter().filter(|s| s.write == write).map(|s| s.bytes).sum();
                if seconds > 0.0 { bytes as f64 / MIB / seconds } else { 0.0 }
            };
            StateFigures {
                state,
                seconds,
                write_mib_s: rate(true),
                read_mib_s: rate(false),
                p99_ms: 1000.0 * percentile(inside.iter().map(|s| s.end_s - s.start_s).collect(), P99),
                worst_pause_s: pause(&self.samples, true, from, to).max(pause(&self.samples, false, from, to)),
            }
        };
        // Over all states at once, since a pause may reach from one into the next.
        let from = self.marks.first().map_or(0.0, |mark| mark.at_s);
        let worst = |write| pause(&self.samples, write, from, self.end_s);
        RunFigures {
            directory: self.directory.clone(),
            worst_pause_s: worst(true).max(worst(false)),
            errors: self.errors.clone(),
            whole_after_s: self.whole_after_s,
            states: self.spans().map(state).collect(),
        }
    }
}

impl Report {
    /// Of the mirrored and the unmirrored directory, in this order.
    pub fn of(runs: &[Run]) -> Report {
        let runs: Vec<RunFigures> = runs.iter().map(Run::figures).collect();
        let of = |run: usize, state: State, write: bool| {
            let found = runs.get(run).and_then(|run| run.states.iter().find(|s| s.state == state));
            found.map_or(0.0, |s| if write { s.write_mib_s } else { s.read_mib_s })
        };
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        let against = |state, write| ratio(of(0, state, write), of(0, State::Normal, write));
        let span = |state: State| runs.first().and_then(|run| run.states.iter().find(|s| s.state == state));
        let long = span(State::Returned).is_some_and(|s| s.seconds >= SHORTEST_S);
        let both = |state| of(0, state, true) + of(0, state, false);
        Report {
            worst_pause_s: runs.first().map_or(0.0, |run| run.worst_pause_s),
            errors: runs.iter().map(|run| run.errors.len()).sum(),
            mirrored_write_ratio: ratio(of(0, State::Normal, true), of(1, State::Normal, true)),
            away_write_ratio: against(State::Away, true),
            away_read_ratio: against(State::Away, false),
            returned_write_ratio: long.then(|| against(State::Returned, true)),
            returned_read_ratio: long.then(|| against(State::Returned, false)),
            returned_ratio: long.then(|| ratio(both(State::Returned), both(State::Normal))),
            runs,
        }
    }

    /// For people, next to what the paper measured of mirrors elsewhere.
    pub fn document(&self) -> Document {
        let heads = ["DIRECTORY", "STATE", "SECONDS", "WRITE MiB/s", "READ MiB/s", "P99 ms", "PAUSE s"];
        let mut table = Table::new(&heads);
        for run in &self.runs {
            for state in &run.states {
                table.row([
                    run.directory.clone(),
                    state.state.name().to_owned(),
                    format!("{:.1}", state.seconds),
                    format!("{:.1}", state.write_mib_s),
                    format!("{:.1}", state.read_mib_s),
                    format!("{:.1}", state.p99_ms),
                    format!("{:.2}", state.worst_pause_s),
                ]);
            }
        }
        let percent = |ratio: f64| format!("{:.0} %", ratio * 100.0);
        let some = |ratio: Option<f64>| ratio.map_or("too short to tell".to_owned(), percent);
        let mut text = format!(
            "\nMirrored write by unmirrored: {} (published elsewhere: 26 %)\n",
            percent(self.mirrored_write_ratio)
        );
        text += &format!(
            "One server away, by normal: write {}, read {} (published elsewhere: read 51 %)\n",
            percent(self.away_write_ratio),
            percent(self.away_read_ratio)
        );
        text += &format!(
            "While it is brought up to date, by normal: write {}, read {} (published elsewhere: 32 %, 35 %)\n",
            some(self.returned_write_ratio),
            some(self.returned_read_ratio)
        );
        for run in &self.runs {
            text += &format!(
                "{}: worst pause {:.2} s, {} errors, whole again {:.1} s after the return\n",
                run.directory,
                run.worst_pause_s,
                run.errors.len(),
                run.whole_after_s
            );
            run.errors.iter().for_each(|error| text += &format!("  {error}\n"));
        }
        let mut document = Document::default();
        document.table(table);
        document.text(text);
        document
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A write and a read each 0.1 s for 30 s; from 10.5 to 12 nothing ends; a server is away from 10 to 20.
    pub(in crate::failure) fn run(directory: &str) -> Run {
        let mark = |at_s, state| Mark { at_s, state };
        let mut samples = Vec::new();
        for turn in 0..300 {
            let end_s = f64::from(turn) / 10.0 + 0.05;
            if (10.5..12.0).contains(&end_s) {
                continue;
            }
            let start_s = if (12.0..12.1).contains(&end_s) { 10.5 } else { end_s - 0.1 };
            samples.extend([true, false].map(|write| Sample { start_s, end_s, write, bytes: 1 << 20 }));
        }
        let marks = vec![mark(0.0, State::Normal), mark(10.0, State::Away), mark(20.0, State::Returned)];
        Run { directory: directory.into(), marks, end_s: 30.0, whole_after_s: 3.0, samples, errors: vec![] }
    }

    #[test]
    fn states_have_their_rates_and_pauses() {
        let report = Report::of(&[run("mirrored"), run("unmirrored")]);
        let states = &report.runs[0].states;
        assert!((states[0].write_mib_s - 10.0).abs() < 0.01 && (states[0].p99_ms - 100.0).abs() < 0.1, "{states:?}");
        assert!((states[1].read_mib_s - 8.5).abs() < 0.01, "{states:?}");
        assert!((states[1].p99_ms - 1550.0).abs() < 1.0 && (states[1].worst_pause_s - 1.6).abs() < 0.01, "{states:?}");
        assert!((report.worst_pause_s - 1.6).abs() < 0.01 && (report.mirrored_write_ratio - 1.0).abs() < 1e-9);
        assert!((report.away_read_ratio - 0.85).abs() < 1e-3 && report.errors == 0);
        let text = report.document().plain();
        assert!(text.contains("away") && text.contains("worst pause 1.60 s"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        for (state, written) in states.iter().zip(json["runs"][0]["states"].as_array().unwrap()) {
            assert_eq!(written["state"], state.state.name());
        }
        assert_eq!(states[2].state.name(), "returned");
    }

    #[test]
    fn a_standstill_to_the_end_is_a_pause_and_errors_are_listed() {
        let mut stuck = run("unmirrored");
        stuck.samples.retain(|s| s.end_s < 12.0);
        stuck.errors.push("write of block 3 at 13.00 s: no".into());
        let report = Report::of(&[run("mirrored"), stuck]);
        assert!((report.runs[1].worst_pause_s - 19.55).abs() < 0.01, "{}", report.runs[1].worst_pause_s);
        assert!(report.errors == 1 && report.document().plain().contains("  write of block 3"));
        assert_eq!((percentile(vec![], P99), percentile(vec![7.0], P99)), (0.0, 7.0));
    }
}
