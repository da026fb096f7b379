// SPDX-License-Identifier: Apache-2.0

//! What charts get of what was sampled.

use super::*;

fn totals(read: f64, latency: f64) -> Totals {
    let mut totals = Totals::default();
    totals.set(Line::Read, read);
    totals.set(Line::MetaLatency, latency);
    totals
}

#[test]
fn an_hour_shows_means_and_peaks_and_gaps() {
    let mut history = History::default();
    let now = 1_000_000_000_000;
    for n in 0..6 {
        // A step of an hour is 30 seconds.
        history.push(now + n * 5000, totals(n as f64, if n == 3 { 9.0 } else { 1.0 }));
    }
    let read = history.points(Line::Read, Span::Hour, now + 29_000);
    assert_eq!(read.len(), POINTS);
    let known: Vec<f64> = read.iter().flatten().copied().collect();
    assert_eq!(known, [1.5, 4.5], "steps begin at multiples of their length");
    assert_eq!(read.iter().rposition(Option::is_some), Some(POINTS - 1), "the newest is at the right");
    let latency = history.points(Line::MetaLatency, Span::Hour, now + 29_000);
    assert_eq!(latency.iter().flatten().copied().fold(0.0, f64::max), 9.0);
}

#[test]
fn a_day_is_kept_in_bounded_memory() {
    let mut history = History::default();
    let start = 1_000_000_000_000;
    for n in 0..40_000_u64 {
        history.push(start + n * 5000, totals(7.0, 0.5));
    }
    assert!(history.rounds.len() <= ROUNDS && history.minutes.len() <= MINUTES);
    let now = start + 39_999 * 5000;
    for line in [Line::Read, Line::MetaLatency] {
        let day = history.points(line, Span::Day, now);
        let expected = if line == Line::Read { 7.0 } else { 0.5 };
        assert!(day.iter().all(|value| *value == Some(expected)), "{line:?}: {day:?}");
    }
    assert_eq!(history.points(Line::Written, Span::Hour, now)[POINTS - 1], Some(0.0));
}

#[test]
fn a_clock_that_went_back_adds_nothing() {
    let mut history = History::default();
    history.push(5000, totals(1.0, 0.0));
    history.push(4000, totals(9.0, 0.0));
    assert_eq!(history.points(Line::Read, Span::Hour, 5000).iter().flatten().copied().collect::<Vec<_>>(), [1.0]);
}
