// SPDX-License-Identifier: Apache-2.0

//! What stands on a terminal of 80 columns, and what keys make of it.

use super::*;
use crate::logic::key::Key;
use crate::logic::tables::{Tables, tables};
use nyala_metrics::catalog::Source;
use nyala_mon::logic::busy::BusyRow;
use nyala_mon::logic::series::{self, Field, Kind};
use nyala_mon::{Answered, Busy, Instance, Round};
use nyala_wire::InodeId;
use std::time::Duration;

/// A value: metric, label, number of it, value.
type Said<'a> = (&'a str, (&'a str, &'a str), Field, i64);

fn say(round: &mut Round, service: Source, name: &str, all: &[Said<'_>]) {
    let value = |(metric, (label, of), field, value): &Said<'_>| {
        let kind = match field {
            Field::P50 | Field::P99 => Kind::Peak,
            _ if metric.ends_with("free_bytes")
                || metric.ends_with("size_bytes")
                || metric.ends_with("memory_bytes") =>
            {
                Kind::Gauge
            }
            _ => Kind::Counter,
        };
        let labels = if label.is_empty() { Vec::new() } else { vec![((*label).to_owned(), (*of).to_owned())] };
        let micros = metric.ends_with("_seconds") && *field != Field::Count;
        let (metric, instance) = ((*metric).to_owned(), name.to_owned());
        (series::Key { metric, service, instance, labels, field: *field, kind, micros }, *value)
    };
    let values = all.iter().map(value).collect();
    round.insert(Instance { service, name: name.to_owned() }, Answered { values, ..Answered::default() });
}

/// A cluster's figures after so many seconds.
fn round(seconds: i64) -> Round {
    let mut round = Round::new();
    let meta = "nyala_meta_request_duration_seconds";
    let op = |op| ("op", op);
    say(
        &mut round,
        Source::Meta,
        "meta1",
        &[
            (meta, op("create"), Field::Count, 100 * seconds),
            (meta, op("create"), Field::Sum, 30_000 * seconds),
            (meta, op("create"), Field::P99, 900),
            (meta, op("delegation_poll"), Field::P99, 9_000_000),
            (meta, op("delegation_poll"), Field::Count, seconds),
            ("nyala_meta_request_errors", op("create"), Field::Value, 2 * seconds),
            ("nyala_meta_client_requests", ("client", "10.0.0.1"), Field::Value, 60 * seconds),
            ("nyala_meta_client_requests", ("client", "10.0.0.2"), Field::Value, 41 * seconds),
            ("nyala_meta_user_requests", ("uid", "1000"), Field::Value, 70 * seconds),
            ("nyala_meta_user_changes", ("uid", "1000"), Field::Value, 50 * seconds),
            ("nyala_meta_user_requests", ("uid", "-"), Field::Value, 31 * seconds),
            ("process_cpu_seconds", ("", ""), Field::Value, 250_000 * seconds),
            ("process_resident_memory_bytes", ("", ""), Field::Value, 48 << 20),
            ("nyala_target_size_bytes", ("target", "1"), Field::Value, 1000),
            ("nyala_target_free_bytes", ("target", "1"), Field::Value, 900),
        ],
    );
    let target = ("target", "101");
    say(
        &mut round,
        Source::Storage,
        "storage1",
        &[
            ("nyala_storage_request_duration_seconds", op("write"), Field::Count, 7 * seconds),
            ("nyala_storage_target_written_bytes", target, Field::Value, (7 << 20) * seconds),
            ("nyala_storage_target_ops", target, Field::Value, 7 * seconds),
            ("nyala_storage_queue_wait_duration_seconds", target, Field::P99, 12_000),
            ("nyala_storage_client_written_bytes", ("client", "10.0.0.2"), Field::Value, (7 << 20) * seconds),
            ("nyala_storage_client_requests", ("client", "10.0.0.2"), Field::Value, 7 * seconds),
            ("nyala_target_size_bytes", target, Field::Value, 1000),
            ("nyala_target_free_bytes", target, Field::Value, 250),
        ],
    );
    say(
        &mut round,
        Source::Mount,
        "c1:/mnt/nyala",
        &[
            ("nyala_fuse_request_duration_seconds", op("create"), Field::Count, 100 * seconds),
            ("nyala_fuse_user_requests", ("uid", "1000"), Field::Value, 100 * seconds),
        ],
    );
    let failed = Some("it refuses the connection".to_owned());
    round.insert(
        Instance { service: Source::Storage, name: "storage2".into() },
        Answered { values: Vec::new(), failed, stats: None },
    );
    round
}

fn view() -> View {
    let mut view = View::new(Tab::Services);
    view.tables(tables(&round(10), &round(12), Duration::from_secs(2)));
    view
}

fn press(view: &mut View, keys: &str) {
    keys.chars().for_each(|key| assert!(!view.press(Key::Char(key))));
}

fn drawn(view: &View, rows: u16) -> Vec<String> {
    crate::batch::text(view, "m1:8008", rows).lines().map(str::to_owned).collect()
}

#[test]
fn services_at_80_columns() {
    assert_eq!(
        drawn(&view(), 12),
        [
            "nyala top  m1:8008  108 req/s  0/s read  7M/s written",
            "1 services  2 targets  3 clients  4 users  5 operations  6 files  7 directories",
            "NAME                        TYPE    REQ/Sv ERR/S READ/S WRITE/S   P99 CPU MEMORY",
            "meta1                       meta       101     2      -       - 900µs 25%    48M",
            "c1:/mnt/nyala               mount      100     0      0       0     -  0%      0",
            "storage1                    storage      7     0      0      7M     -  0%      0",
            "storage2: it refuses the connection",
            "3 rows   ?: keys, q: end",
        ]
    );
}

#[test]
fn the_other_tables() {
    let mut view = view();
    press(&mut view, "2");
    let targets = drawn(&view, 12);
    assert!(
        targets[3].starts_with("101 ") && targets[3].contains("storage1") && targets[3].ends_with("75%"),
        "{targets:#?}"
    );
    assert!(targets[3].contains(" 7 ") && targets[3].contains("7M") && targets[3].contains("12ms"), "{targets:#?}");
    assert!(
        targets[4].starts_with("1 ") && targets[4].contains("meta1") && targets[4].ends_with("10%"),
        "{targets:#?}"
    );
    press(&mut view, "3");
    let clients = drawn(&view, 12);
    assert!(
        clients[3].starts_with("10.0.0.1 ") && clients[4].starts_with("10.0.0.2 ") && clients[4].ends_with("7M"),
        "{clients:#?}"
    );
    press(&mut view, "4");
    let users = drawn(&view, 12);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&users[3]), ["1000", "70", "50", "100", "1"], "{users:#?}");
    assert_eq!(words(&users[4]), ["-", "31", "0", "0", "0"], "{users:#?}");
    press(&mut view, "5");
    let operations = drawn(&view, 12);
    assert!(
        operations[3].starts_with("create ") && operations.iter().any(|line| line.contains("300µs")),
        "{operations:#?}"
    );
}

#[test]
fn busy_files_and_directories_have_paths() {
    let mut shown = tables(&round(10), &round(12), Duration::from_secs(2));
    let row = |path: Option<&str>, requests| BusyRow {
        inode: InodeId(42),
        path: path.map(str::to_owned),
        requests,
        changes: 2.0,
        read_bytes: 3e6,
        written_bytes: 0.0,
    };
    let silent = vec![("storage3".to_owned(), "too old".to_owned())];
    let (files, directories) = (vec![row(Some("/data/x\u{7}"), 9.0), row(None, 70.0)], vec![row(Some("/data"), 5.0)]);
    shown.add_busy(&Busy { files, directories, asked: 3, silent });
    let mut view = View::new(Tab::Files);
    view.tables(shown);
    let lines = drawn(&view, 12);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&lines[3]), ["inode", "0000-00000000002a", "70", "2", "2.9M", "0"], "{lines:#?}");
    assert_eq!(words(&lines[4]), ["/data/x\\u{7}", "9", "2", "2.9M", "0"], "{lines:#?}");
    assert!(lines.contains(&"storage3: too old".to_owned()), "{lines:#?}");
    press(&mut view, "7");
    assert_eq!(words(&drawn(&view, 12)[3]), ["/data", "5", "2"]);
}

#[test]
fn order_filter_and_hold() {
    let mut view = view();
    let names = |view: &View| view.rows().iter().map(|row| row[0].to_string()).collect::<Vec<_>>();
    assert_eq!(names(&view), ["meta1", "c1:/mnt/nyala", "storage1"]);
    press(&mut view, "r");
    assert_eq!(names(&view), ["storage1", "c1:/mnt/nyala", "meta1"]);
    (0..7).for_each(|_| assert!(!view.press(Key::Right)));
    assert_eq!(
        (view.order(), names(&view)),
        ((0, true), ["c1:/mnt/nyala", "meta1", "storage1"].map(str::to_owned).to_vec())
    );
    press(&mut view, "/STORq");
    assert_eq!((names(&view), view.press(Key::Backspace)), (Vec::new(), false));
    view.press(Key::Enter);
    assert_eq!((names(&view), view.writing), (vec!["storage1".to_owned()], false));
    assert!(drawn(&view, 12).last().unwrap().contains("\"STOR\""));
    press(&mut view, "p");
    view.tables(Tables::default());
    assert_eq!(names(&view).len(), 1, "it is held still");
    assert!(drawn(&view, 12)[0].ends_with("HELD STILL"));
    press(&mut view, " ");
    view.tables(Tables::default());
    assert!(names(&view).is_empty());
    assert!(!view.press(Key::Escape), "the filter goes first");
    assert!(view.press(Key::Escape) && View::new(Tab::Users).press(Key::Char('q')));
}

#[test]
fn any_key_and_any_size_are_taken() {
    let keys = [
        Key::Up,
        Key::Down,
        Key::PageDown,
        Key::End,
        Key::Left,
        Key::Right,
        Key::Tab,
        Key::BackTab,
        Key::Home,
        Key::PageUp,
    ];
    let mut view = view();
    for number in 0..2000_usize {
        let at = number * 7919 % (keys.len() + 8);
        view.press(
            keys.get(at)
                .copied()
                .unwrap_or(Key::Char(['r', '?', '1', '5', 'p', 'x', '<', 'k'][at.saturating_sub(keys.len())])),
        );
        if number % 10 == 0 {
            drawn(&view, (number % 30) as u16 + 1);
            view.tables(tables(&round(1), &round(number as i64 % 3), Duration::from_secs(1)));
        }
    }
    press(&mut View::new(Tab::Services), "?");
}
