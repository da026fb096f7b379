// SPDX-License-Identifier: Apache-2.0

//! Rates, estimates and the line that says them.

use super::*;

fn pace(looks: &[(u64, u64)]) -> Pace {
    let mut pace = Pace::default();
    looks.iter().for_each(|(at_ms, done)| pace.note(Duration::from_millis(*at_ms), *done));
    pace
}

#[test]
fn a_rate_and_an_end_follow_from_the_last_looks() {
    let even = pace(&[(0, 0), (1000, 100), (2000, 200)]);
    assert_eq!((even.rate(), even.remaining(500)), (Some(100.0), Some(Duration::from_secs(3))));
    assert_eq!(
        even.line("moves", Counted::Things("slots"), Some(500)),
        "moves: 200 slots of 500 slots (40 %), 100/s, about 3 s left"
    );
    assert_eq!(even.brief("moves", Counted::Things("slots"), 500), "moves: 40 % of 500 slots, 100/s, 3 s left");
    // A long pause counts, and what was before the window does not.
    let slower = pace(&[(0, 0), (10_000, 10_000), (30_000, 10_100), (50_000, 10_200)]);
    assert_eq!(slower.rate(), Some(5.0));
    assert_eq!(pace(&[(0, 0), (500, 10)]).rate(), None, "too early");
    assert_eq!(
        pace(&[]).line("scrub", Counted::Bytes, Some(9)),
        format!("scrub: {} of {} (0 %)", human_bytes(0), human_bytes(9))
    );
}

#[test]
fn what_nobody_can_say_is_not_said() {
    let stuck = pace(&[(0, 7), (5000, 7)]);
    assert_eq!((stuck.rate(), stuck.remaining(100)), (Some(0.0), None));
    assert_eq!(stuck.line("moves", Counted::Things("slots"), Some(100)), "moves: 7 slots of 100 slots (7 %), 0.0/min");
    let past = pace(&[(0, 0), (2000, 50)]);
    assert_eq!(past.line("x", Counted::Things("y"), Some(40)), "x: 50 y, 25/s", "the total was an estimate");
    assert_eq!(past.line("x", Counted::Things("y"), None), "x: 50 y, 25/s");
    assert_eq!(pace(&[(0, 0), (2000, 1)]).remaining(u64::MAX), None, "never");
    let back = pace(&[(0, 90), (1000, 100), (2000, 3), (3000, 5)]);
    assert_eq!(back.rate(), Some(2.0), "a service was started again");
}

#[test]
fn rates_and_times_are_short() {
    let rates: Vec<String> = [120.0, 2.5, 0.02].map(|rate| Counted::Things("x").a_second(rate)).into();
    assert_eq!(rates, ["120/s", "2.5/s", "1.2/min"]);
    assert_eq!(Counted::Bytes.a_second(1048576.0), format!("{}/s", human_bytes(1 << 20)));
    let times: Vec<String> = [0, 59, 61, 7260, 90_000].map(|s| duration(Duration::from_secs(s))).into();
    assert_eq!(times, ["0 s", "59 s", "1 min 1 s", "2 h 1 min", "1 d 1 h"]);
    assert_eq!(duration(Duration::from_millis(200)), "1 s", "never too early");
}
