// SPDX-License-Identifier: Apache-2.0

//! Ways that are much slower than the others.

use crate::finding::{Finding, Level};
use crate::links::Link;

/// Findings at most; the rest is a number in the last one.
const MOST: usize = 8;

/// Ways with less than half of the speed of the one in the middle, the slowest first.
pub fn slow(links: &[Link]) -> Vec<Finding> {
    let speed = |link: &Link| link.found.as_ref().ok().and_then(|figures| figures.bytes_per_s);
    let mut all: Vec<u64> = links.iter().filter_map(speed).collect();
    all.sort_unstable();
    // Of two, the faster one: between two hosts, either way may be the slow one.
    let Some(middle) = all.get(all.len() / 2).copied() else { return Vec::new() };
    let mut slow: Vec<(u64, &Link)> =
        links.iter().filter_map(|link| Some((speed(link)?, link))).filter(|(speed, _)| *speed < middle / 2).collect();
    slow.sort_by_key(|(speed, link)| (*speed, &link.from, &link.to));
    let more = slow.len().saturating_sub(MOST);
    let judge = |(at, (speed, link)): (usize, &(u64, &Link))| {
        let more = if more > 0 && at + 1 == MOST { format!(" ({more} more ways are slow)") } else { String::new() };
        let is = format!("{} from {}, half of the ways have {} or more{more}", rate(*speed), link.from, rate(middle));
        let change = "compare the interfaces of both hosts (ethtool DEV: speed, duplex; ip -s link: errors, drops), cables and switch ports; \
                      look again when nothing else uses the network";
        let why = "a striped file is as fast as the slowest of its servers, and a mirror as its slower member";
        Finding::of_network(Level::Advice, &link.to, is, change, why)
    };
    slow.iter().take(MOST).enumerate().map(judge).collect()
}

/// As in `1.1 GB/s`.
fn rate(bytes_per_s: u64) -> String {
    match bytes_per_s {
        1_000_000_000.. => format!("{:.1} GB/s", bytes_per_s as f64 / 1e9),
        1_000_000.. => format!("{:.0} MB/s", bytes_per_s as f64 / 1e6),
        _ => format!("{:.0} kB/s", bytes_per_s as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::samples::{good, with};

    fn fast(from: &str, to: &str, mb: u64) -> Link {
        with(good(from, to), |figures| figures.bytes_per_s = (mb > 0).then_some(mb * 1_000_000))
    }

    #[test]
    fn ways_are_compared_with_the_others() {
        type Case<'a> = (&'a str, Vec<Link>, &'a [(&'a str, &'a str)]);
        let table: [Case<'_>; 6] = [
            ("nothing was measured", vec![fast("a", "b", 0)], &[]),
            ("one", vec![fast("a", "b", 3)], &[]),
            ("about the same", vec![fast("a", "b", 1100), fast("b", "a", 600), fast("a", "c", 1000)], &[]),
            ("one way of two", vec![fast("a", "b", 1100), fast("b", "a", 90)], &[("a", "90 MB/s from b")]),
            (
                "a slow host, the slowest first",
                vec![
                    fast("a", "b", 2000),
                    fast("b", "a", 2000),
                    fast("a", "c", 110),
                    fast("c", "a", 12),
                    fast("b", "d", 1900),
                ],
                &[("a", "12 MB/s from c"), ("c", "110 MB/s from a, half of the ways have 1.9 GB/s")],
            ),
            ("not measured is not slow", vec![fast("a", "b", 1000), fast("b", "a", 1000), fast("c", "a", 0)], &[]),
        ];
        for (what, links, wanted) in table {
            let found = slow(&links);
            assert_eq!(found.len(), wanted.len(), "{what}: {found:#?}");
            for (finding, (subject, word)) in found.iter().zip(wanted) {
                assert!(finding.subject == *subject && finding.is.contains(word), "{what}: {finding:?}");
                assert_eq!(finding.level, Level::Advice);
            }
        }
    }

    #[test]
    fn of_many_the_worst_are_named() {
        let mut links: Vec<Link> = (0..20).map(|n| fast(&format!("h{n}"), "z", 1000)).collect();
        links.extend((0..15).map(|n| fast("s", &format!("t{n:02}"), 10 + n)));
        let found = slow(&links);
        assert_eq!((found.len(), found[0].subject.as_str()), (MOST, "t00"));
        assert!(
            found[MOST - 1].is.contains("7 more ways are slow") && !found[0].is.contains("more ways"),
            "{found:#?}"
        );
    }
}
