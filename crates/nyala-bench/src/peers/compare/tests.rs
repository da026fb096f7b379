// SPDX-License-Identifier: Apache-2.0

//! Comparisons of made-up rounds.

use super::super::document::document;
use super::*;

fn rounds(kind: Kind, rates: &[&[u64]]) -> Rounds {
    let figure = |step: &str, items: u64| Figure {
        workload: "w".to_owned(),
        step: step.to_owned(),
        items,
        bytes: items << 20,
        seconds: 1.0,
        cpu_us: 1000,
    };
    let round =
        |rates: &&[u64]| ["create", "write", "stat"].iter().zip(*rates).map(|(step, n)| figure(step, *n)).collect();
    (kind, rates.iter().map(round).collect())
}

#[test]
fn medians_are_held_against_the_best_other() {
    let own = rounds(Kind::Nyala, &[&[100, 100, 10], &[300, 100, 10], &[200, 100, 10]]);
    let one = rounds(Kind::GlusterFs, &[&[100, 50, 20]]);
    let other = rounds(Kind::MooseFs, &[&[50, 105, 5]]);
    let local = rounds(Kind::Local, &[&[9999, 9999, 9999]]);
    let compared = compare(&[own, one, other, local], Setting::default(), 1, vec!["a remark".to_owned()]);
    let of = |row: &Row| (row.by_best.unwrap(), row.verdict.unwrap());
    let found: Vec<_> = compared.comparison.iter().map(of).collect();
    assert_eq!(found[0], (2.0, Verdict::First));
    assert_eq!(found[1].1, Verdict::Level);
    assert_eq!(found[2], (0.5, Verdict::Behind));
    assert_eq!(compared.comparison[1].unit, "MiB/s");
    assert_eq!(compared.comparison[0].cpu_by_best, Some(0.5));
    let text = document(&compared).plain();
    for line in
        ["w create per s 200 100 50.0 9999 2.00 first\n", "First in 1 rows, level in 1, behind in 1\n", "a remark\n"]
    {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn without_others_there_is_no_verdict() {
    let compared = compare(&[rounds(Kind::Nyala, &[&[1, 2, 3]])], Setting::default(), 2, Vec::new());
    assert!(compared.comparison.iter().all(|row| row.verdict.is_none() && row.by_best.is_none()));
    assert!(!document(&compared).plain().contains("First in"));
    assert_eq!(compare(&[], Setting::default(), 1, Vec::new()).comparison, []);
}
