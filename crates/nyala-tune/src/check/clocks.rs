// SPDX-License-Identifier: Apache-2.0

//! Clocks of hosts against each other.

use crate::finding::{Area, Finding, Level};
use crate::links::HostClock;

/// A clock that differs by more is noted, microseconds: what two hosts log at one moment would seem to follow each other.
const NOTED_US: u64 = 100_000;
/// From here on it is a danger, microseconds: a file that was changed on one host looks older than its copy from another.
const DANGER_US: u64 = 5_000_000;

/// Judges them against the one in the middle, so that one wrong clock is named and not all others.
pub fn check(clocks: &[HostClock]) -> Vec<Finding> {
    let mut sorted: Vec<i64> = clocks.iter().map(|clock| clock.ahead_us).collect();
    sorted.sort_unstable();
    let Some(middle) = sorted.get(sorted.len().saturating_sub(1) / 2).copied() else { return Vec::new() };
    let mut findings: Vec<Finding> = clocks.iter().filter_map(|clock| judge(clock, middle, clocks.len())).collect();
    findings.sort_by_key(|finding| finding.level);
    findings
}

fn judge(clock: &HostClock, middle: i64, hosts: usize) -> Option<Finding> {
    let off = clock.ahead_us.saturating_sub(middle);
    // As much as is certain.
    let certain = off.unsigned_abs().saturating_sub(clock.error_us);
    if certain <= NOTED_US {
        return None;
    }
    let way = if off > 0 { "ahead of" } else { "behind" };
    let others = if hosts > 2 { "most other hosts" } else { "the other host" };
    let (level, why) = if certain > DANGER_US {
        let why = "times of files come from the hosts that write them: make and incremental backups take a file that was changed for an old one; \
                   tokens of the REST API end too early or too late. Leases do not depend on it";
        (Level::Danger, why)
    } else {
        let why =
            "times of files and of log lines come from several hosts and are compared; leases do not depend on it";
        (Level::Advice, why)
    };
    Some(Finding {
        level,
        area: Area::Clock,
        subject: clock.name.clone(),
        is: format!("its clock is {} {way} that of {others}", seconds(off.unsigned_abs())),
        change: "run chrony, or another client of NTP, on all hosts with the same servers (chronyc tracking)".into(),
        why: why.into(),
    })
}

/// As in `1.25 s`, or `3 h 20 min` where nobody counts seconds any more.
fn seconds(micros: u64) -> String {
    let whole = micros / 1_000_000;
    match whole {
        0..600 => format!("{:.2} s", micros as f64 / 1e6),
        600..36_000 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} h", whole / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(name: &str, ahead_us: i64, error_us: u64) -> HostClock {
        HostClock { name: name.into(), ahead_us, error_us }
    }

    #[test]
    fn clocks_are_judged_against_the_one_in_the_middle() {
        type Case<'a> = (&'a str, &'a [(&'a str, i64, u64)], &'a [(&'a str, Level, &'a str)]);
        let table: [Case<'_>; 8] = [
            ("nobody was asked", &[], &[]),
            ("one", &[("a", 9_000_000, 0)], &[]),
            ("in step", &[("a", 0, 0), ("b", 90_000, 100), ("c", -90_000, 100)], &[]),
            (
                "one is ahead",
                &[("a", 0, 0), ("b", 10, 9), ("c", 250_000, 9)],
                &[("c", Level::Advice, "0.25 s ahead of")],
            ),
            (
                "this host is behind",
                &[("a", 0, 0), ("b", 7_000_000, 9), ("c", 7_000_001, 9)],
                &[("a", Level::Danger, "7.00 s behind")],
            ),
            ("what may be the way is no finding", &[("a", 0, 0), ("b", 0, 9), ("c", 250_000, 200_000)], &[]),
            ("two differ: one is named", &[("a", 0, 0), ("b", -200_000, 9)], &[("a", Level::Advice, "the other host")]),
            (
                "far off, and worst first",
                &[("a", 0, 0), ("b", 0, 0), ("c", 0, 0), ("d", 200_000, 0), ("e", -12_000_000_000, 0)],
                &[("e", Level::Danger, "3 h 20 min behind"), ("d", Level::Advice, "0.20 s")],
            ),
        ];
        for (what, clocks, wanted) in table {
            let clocks: Vec<HostClock> =
                clocks.iter().map(|(name, ahead, error)| clock(name, *ahead, *error)).collect();
            let found = check(&clocks);
            let shown: Vec<_> = found.iter().map(|finding| (finding.subject.as_str(), finding.level)).collect();
            assert_eq!(shown, wanted.iter().map(|(name, level, _)| (*name, *level)).collect::<Vec<_>>(), "{what}");
            for (finding, (_, _, word)) in found.iter().zip(wanted) {
                assert!(finding.is.contains(word), "{what}: {}", finding.is);
            }
        }
    }
}
