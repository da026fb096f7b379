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

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Writes and reads the content of files.
    Content,
    /// Makes, removes and looks up names.
    Names,
}

/// What was seen on one directory.
pub struct Run {
    /// `mirrored`, `unmirrored` or `metadata`.
    pub directory: String,
    /// What the load did there.
    pub kind: Kind,
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

/// What ended in a state, by its length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Rates {
    /// Of content, MiB per second.
    Content {
        /// Writes.
        write_mib_s: f64,
        /// Reads.
        read_mib_s: f64,
    },
    /// Of names, operations per second.
    Names {
        /// Names made and removed.
        changes_per_s: f64,
        /// Names looked up.
        lookups_per_s: f64,
    },
}

impl Rates {
    /// Of so much in a second.
    fn of(kind: Kind, write: f64, read: f64) -> Rates {
        match kind {
            Kind::Content => Rates::Content { write_mib_s: write, read_mib_s: read },
            Kind::Names => Rates::Names { changes_per_s: write, lookups_per_s: read },
        }
    }

    /// What changes, and what reads.
    fn both(self) -> (f64, f64) {
        match self {
            Rates::Content { write_mib_s, read_mib_s } => (write_mib_s, read_mib_s),
            Rates::Names { changes_per_s, lookups_per_s } => (changes_per_s, lookups_per_s),
        }
    }
}

/// One state in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateFigures {
    /// The state.
    pub state: State,
    /// How long it lasted.
    pub seconds: f64,
    /// What ended in it.
    #[serde(flatten)]
    pub rates: Rates,
    /// 99 of 100 operations that ended in this state took at most so long.
    pub p99_ms: f64,
    /// The longest operation, or the longest that none of a kind ended.
    pub worst_pause_s: f64,
}

/// One directory in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// `mirrored`, `unmirrored` or `metadata`.
    pub directory: String,
    /// The worst pause after each kill, in their order.
    pub pauses_s: Vec<f64>,
    /// The worst pause, over all states.
    pub worst_pause_s: f64,
    /// Errors that the load saw.
    pub errors: Vec<String>,
    /// How long after its return the server had everything again.
    pub whole_after_s: f64,
    /// State by state.
    pub states: Vec<StateFigures>,
}

/// Rates of a state by those with all servers there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Ratios {
    /// A server away: writes, or changes of names.
    pub away_write_ratio: f64,
    /// The same of reads, or of lookups.
    pub away_read_ratio: f64,
    /// While it is brought up to date; absent if that was too short to be measured.
    pub returned_write_ratio: Option<f64>,
    /// The same of reads.
    pub returned_read_ratio: Option<f64>,
    /// The same of both together.
    pub returned_ratio: Option<f64>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The worst pause on the mirrored directory.
    pub worst_pause_s: f64,
    /// Number of errors that applications saw, on all.
    pub errors: usize,
    /// Mirrored by unmirrored, all servers there.
    pub mirrored_write_ratio: f64,
    /// Of the mirrored directory.
    #[serde(flatten)]
    pub ratios: Ratios,
    /// The worst pause of names.
    pub metadata_worst_pause_s: f64,
    /// Of names.
    pub metadata: Ratios,
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
                let of_kind = inside.iter().filter(|s| s.write == write);
                let done = match self.kind {
                    Kind::Content => of_kind.map(|s| s.bytes).sum::<u64>() as f64 / MIB,
                    Kind::Names => of_kind.count() as f64,
                };
                ratio(done, seconds)
            };
            StateFigures {
                state,
                seconds,
                rates: Rates::of(self.kind, rate(true), rate(false)),
                p99_ms: 1000.0 * percentile(inside.iter().map(|s| s.end_s - s.start_s).collect(), P99),
                worst_pause_s: pause(&self.samples, true, from, to).max(pause(&self.samples, false, from, to)),
            }
        };
        // Over all states at once, since a pause may reach from one into the next.
        let from = self.marks.first().map_or(0.0, |mark| mark.at_s);
        let worst = |write| pause(&self.samples, write, from, self.end_s);
        let states: Vec<StateFigures> = self.spans().map(state).collect();
        RunFigures {
            directory: self.directory.clone(),
            pauses_s: states.iter().filter(|s| s.state == State::Away).map(|s| s.worst_pause_s).collect(),
            worst_pause_s: worst(true).max(worst(false)),
            errors: self.errors.clone(),
            whole_after_s: self.whole_after_s,
            states,
        }
    }
}

/// 0 where there is nothing to compare with.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

impl RunFigures {
    /// Length of a state, and its rates: of all times that it lasted.
    fn of(&self, state: State) -> (f64, f64, f64) {
        let spans = || self.states.iter().filter(|s| s.state == state);
        let seconds = spans().map(|s| s.seconds).sum();
        let done = |of: fn((f64, f64)) -> f64| ratio(spans().map(|s| of(s.rates.both()) * s.seconds).sum(), seconds);
        (seconds, done(|(write, _)| write), done(|(_, read)| read))
    }

    fn ratios(&self) -> Ratios {
        let [normal, away, returned] = [State::Normal, State::Away, State::Returned].map(|state| self.of(state));
        let long = returned.0 >= SHORTEST_S;
        Ratios {
            away_write_ratio: ratio(away.1, normal.1),
            away_read_ratio: ratio(away.2, normal.2),
            returned_write_ratio: long.then(|| ratio(returned.1, normal.1)),
            returned_read_ratio: long.then(|| ratio(returned.2, normal.2)),
            returned_ratio: long.then(|| ratio(returned.1 + returned.2, normal.1 + normal.2)),
        }
    }
}

impl Report {
    /// Of the mirrored and the unmirrored directory, and of names, in this order.
    pub fn of(runs: &[Run]) -> Report {
        let runs: Vec<RunFigures> = runs.iter().map(Run::figures).collect();
        let normal_write = |run: usize| runs.get(run).map_or(0.0, |run| run.of(State::Normal).1);
        let ratios = |run: usize| runs.get(run).map(RunFigures::ratios).unwrap_or_default();
        let pause = |run: usize| runs.get(run).map_or(0.0, |run| run.worst_pause_s);
        Report {
            worst_pause_s: pause(0),
            errors: runs.iter().map(|run| run.errors.len()).sum(),
            mirrored_write_ratio: ratio(normal_write(0), normal_write(1)),
            ratios: ratios(0),
            metadata_worst_pause_s: pause(2),
            metadata: ratios(2),
            runs,
        }
    }

    fn table(&self) -> Table {
        let heads = ["DIRECTORY", "STATE", "SECONDS", "WRITE", "READ", "UNIT", "P99 ms", "PAUSE s"];
        let mut table = Table::new(&heads);
        for run in &self.runs {
            for state in &run.states {
                let ((write, read), unit) = match state.rates {
                    rates @ Rates::Content { .. } => (rates.both(), "MiB/s"),
                    rates @ Rates::Names { .. } => (rates.both(), "names/s"),
                };
                table.row([
                    run.directory.clone(),
                    state.state.name().to_owned(),
                    format!("{:.1}", state.seconds),
                    format!("{write:.1}"),
                    format!("{read:.1}"),
                    unit.to_owned(),
                    format!("{:.1}", state.p99_ms),
                    format!("{:.2}", state.worst_pause_s),
                ]);
            }
        }
        table
    }

    /// For people, next to what the paper measured of mirrors elsewhere.
    pub fn document(&self) -> Document {
        let percent = |ratio: f64| format!("{:.0} %", ratio * 100.0);
        let some = |ratio: Option<f64>| ratio.map_or("too short to tell".to_owned(), percent);
        let mut text = format!(
            "\nMirrored write by unmirrored: {} (published elsewhere: 26 %)\n",
            percent(self.mirrored_write_ratio)
        );
        text += &format!(
            "One server away, by normal: write {}, read {} (published elsewhere: read 51 %)\n",
            percent(self.ratios.away_write_ratio),
            percent(self.ratios.away_read_ratio)
        );
        text += &format!(
            "While it is brought up to date, by normal: write {}, read {} (published elsewhere: 32 %, 35 %)\n",
            some(self.ratios.returned_write_ratio),
            some(self.ratios.returned_read_ratio)
        );
        text += &format!(
            "Names, the primary killed, by normal: changes {}, lookups {}; while it is brought up to date: {}, {}\n",
            percent(self.metadata.away_write_ratio),
            percent(self.metadata.away_read_ratio),
            some(self.metadata.returned_write_ratio),
            some(self.metadata.returned_read_ratio)
        );
        for run in &self.runs {
            text += &format!(
                "{}: worst pause {:.2} s (after each kill: {}), {} errors, whole again {:.1} s after the return\n",
                run.directory,
                run.worst_pause_s,
                run.pauses_s.iter().map(|pause| format!("{pause:.2}")).collect::<Vec<_>>().join(", "),
                run.errors.len(),
                run.whole_after_s
            );
            run.errors.iter().for_each(|error| text += &format!("  {error}\n"));
        }
        let mut document = Document::default();
        document.table(self.table());
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
        let kind = if directory == "metadata" { Kind::Names } else { Kind::Content };
        Run { directory: directory.into(), kind, marks, end_s: 30.0, whole_after_s: 3.0, samples, errors: vec![] }
    }

    #[test]
    fn states_have_their_rates_and_pauses() {
        let report = Report::of(&[run("mirrored"), run("unmirrored")]);
        let states = &report.runs[0].states;
        assert!((states[0].rates.both().0 - 10.0).abs() < 0.01 && (states[0].p99_ms - 100.0).abs() < 0.1, "{states:?}");
        assert!((states[1].rates.both().1 - 8.5).abs() < 0.01, "{states:?}");
        assert!((states[1].p99_ms - 1550.0).abs() < 1.0 && (states[1].worst_pause_s - 1.6).abs() < 0.01, "{states:?}");
        assert!((report.worst_pause_s - 1.6).abs() < 0.01 && (report.mirrored_write_ratio - 1.0).abs() < 1e-9);
        assert!((report.ratios.away_read_ratio - 0.85).abs() < 1e-3 && report.errors == 0);
        let text = report.document().plain();
        assert!(text.contains("away") && text.contains("worst pause 1.60 s"), "{text}");
        let json = serde_json::to_value(&report).unwrap();
        for (state, written) in states.iter().zip(json["runs"][0]["states"].as_array().unwrap()) {
            assert_eq!(written["state"], state.state.name());
        }
        assert_eq!(states[2].state.name(), "returned");
        assert_eq!(json["runs"][0]["states"][1]["read_mib_s"], serde_json::json!(states[1].rates.both().1));
        assert_eq!(json["away_read_ratio"], serde_json::json!(report.ratios.away_read_ratio));
    }

    #[test]
    fn names_are_counted_and_every_kill_has_its_pause() {
        let mut names = run("metadata");
        names.samples.iter_mut().for_each(|sample| sample.bytes = 0);
        // A second kill, in the middle of what was the return.
        names.marks.push(Mark { at_s: 25.0, state: State::Away });
        let report = Report::of(&[run("mirrored"), run("unmirrored"), names]);
        let figures = &report.runs[2];
        assert!((figures.states[0].rates.both().0 - 10.0).abs() < 0.01, "{figures:?}");
        assert!(figures.pauses_s.len() == 2 && figures.pauses_s[0] > 1.5 && figures.pauses_s[1] < 0.2, "{figures:?}");
        // 8.5 and 10 changes per second for ten and for five seconds.
        assert!((report.metadata.away_write_ratio - 0.9).abs() < 0.01, "{report:?}");
        assert!((report.metadata_worst_pause_s - 1.6).abs() < 0.01 && (report.worst_pause_s - 1.6).abs() < 0.01);
        let json = serde_json::to_value(&report).unwrap();
        assert!(json["runs"][2]["states"][0]["lookups_per_s"].is_number(), "{json}");
        let text = report.document().plain();
        assert!(text.contains("names/s") && text.contains("after each kill: 1.60, 0."), "{text}");
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
