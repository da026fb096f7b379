// SPDX-License-Identifier: Apache-2.0

//! Windows, what is under way, and bounds.

use super::*;

const MS: Duration = Duration::from_millis(1);

#[test]
fn what_ended_is_in_the_window_of_its_end_and_leaves_it() {
    let (recent, start) = (Recent::default(), Instant::now());
    for n in 0..30 {
        recent.begin(start + n * 100 * MS).end(start + n * 100 * MS + 20 * MS, 2);
    }
    let at = |ms: u32| recent.lately(start + ms * MS);
    assert_eq!(at(3000).now, Times { count: 60, us: 600_000 });
    assert_eq!(at(3000).before, Times::default());
    assert_eq!((at(9000).now.count, at(9000).before.count), (0, 60), "a window later");
    let (now, before) = (at(6100).now.count, at(6100).before.count);
    assert!(now > 0 && before > 0 && now + before == 60, "in between: {now} and {before}");
    assert_eq!(at(30_000), Lately::default());
}

#[test]
fn the_oldest_under_way_is_told_until_it_ends_or_is_given_up() {
    let (recent, start) = (Recent::default(), Instant::now());
    let (first, second) = (recent.begin(start), recent.begin(start + 500 * MS));
    let waiting = || recent.lately(start + 2000 * MS).waiting;
    assert_eq!(waiting(), 2000 * MS);
    first.end(start + 1000 * MS, 1);
    assert_eq!(waiting(), 1500 * MS);
    drop(second);
    assert_eq!(waiting(), Duration::ZERO);
    assert_eq!(recent.lately(start + 2000 * MS).now.count, 1, "what is given up is in no mean");
}

#[test]
fn the_memory_is_bounded_however_long_it_lasts() {
    let (recent, start) = (Recent::default(), Instant::now());
    for second in 0..1000 {
        recent.begin(start + second * 1000 * MS).end(start + second * 1000 * MS, 1);
    }
    assert!(recent.inner().slots.len() <= 11);
    assert!(recent.inner().under_way.is_empty());
}

#[test]
fn counters_have_the_names_that_others_read() {
    let lately = Lately { now: Times { count: 1, us: 2 }, before: Times { count: 3, us: 4 }, waiting: 5 * MS };
    let said: Vec<String> = lately.counters(&101, "sync").iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(
        said.join(" "),
        "disk.101.sync.count=1 disk.101.sync.us=2 disk.101.sync.before_count=3 disk.101.sync.before_us=4 \
         disk.101.sync.waiting_ms=5"
    );
}
