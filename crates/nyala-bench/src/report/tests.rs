// SPDX-License-Identifier: Apache-2.0

//! Tests of the report with rows of known figures.

use super::*;
use crate::report::table::render;

/// A row with four tasks.
pub fn row(workload: &'static str, step: Step, backend: Backend, ops: u64, bytes: u64, seconds: f64, cpu: Cpu) -> Row {
    let latency_us = Percentiles { p50: 10.0, p90: 20.5, p99: 300.0, max: 20_000.0 };
    Row {
        workload,
        step,
        backend,
        tasks: 4,
        ops,
        items: ops,
        bytes,
        seconds,
        latency_us,
        cpu,
        meta_each_us: Vec::new(),
        meta_held: Held::default(),
        requests: None,
        of_local: None,
        cached: false,
    }
}

/// A report of these rows.
pub fn report(rows: Vec<Row>) -> Report {
    let trip = Percentiles { p50: 12.0, p90: 14.0, p99: 20.0, max: 100.0 };
    let loopback = Loopback {
        round_trips_per_s: 70_000.0,
        round_trip_us: trip,
        round_trip_cpu_us: 11.0,
        stream_gib_per_s: 8.0,
        stream_cpu_s_per_gib: 0.2,
    };
    let setting =
        Setting { cpus: 2, kernel: "6.18".into(), native_threads: 2, meta: 2, storage: 1, ..Setting::default() };
    let mut report =
        Report { bench: "meta", setting, loopback, rows, aims: Vec::new(), interrupted: false, notes: Vec::new() };
    report.finish();
    report
}

/// What servers used, microseconds.
pub fn servers(meta_us: u64, storage_us: u64) -> Cpu {
    Cpu {
        mgmt_us: Some(100),
        meta_us: Some(meta_us),
        storage_us: Some(storage_us),
        client_us: Some(40_000),
        driver_us: None,
    }
}

#[test]
fn aims_are_held_against_cpu_per_operation() {
    let report = report(vec![
        row("easy", Step::Create, Backend::Native, 1000, 0, 0.5, servers(30_000, 0)),
        row("easy", Step::Stat, Backend::Native, 1000, 0, 0.5, servers(8_000, 0)),
        row("easy", Step::Create, Backend::Mount, 1000, 0, 0.5, servers(1, 0)),
    ]);
    let got: Vec<_> = report.aims.iter().map(|aim| (aim.value, aim.aim, aim.ok)).collect();
    assert_eq!(got, [(Some(30.0), 25.0, false), (Some(8.0), 8.0, true)]);
}

#[test]
fn a_stream_is_held_against_tcp_and_the_local_file_system_in_series() {
    let gib = 1 << 30;
    let report = report(vec![
        row("stream", Step::Write, Backend::Mount, 1024, gib, 0.5, servers(0, 1)),
        row("stream", Step::Write, Backend::Local, 1024, gib, 0.125, Cpu::default()),
    ]);
    // 8 GiB/s and 8 GiB/s in series are 4; 2 of 4 is a half.
    assert_eq!((report.aims[0].value, report.aims[0].ok), (Some(50.0), false));
    assert_eq!(report.rows[0].of_local, Some(0.25));
}

#[test]
fn a_shared_file_is_held_against_a_file_each_by_bytes() {
    let gib = 1 << 30;
    let report = report(vec![
        row("easy", Step::Write, Backend::Native, 1024, gib, 0.5, servers(0, 1)),
        row("hard", Step::Write, Backend::Native, 22_842, gib, 1.0, servers(0, 1)),
    ]);
    let shared = report.aims.iter().find(|aim| aim.what.contains("one shared file")).unwrap();
    assert_eq!((shared.value, shared.ok), (Some(50.0), false));
}

#[test]
fn phases_that_did_nothing_claim_nothing() {
    let report = report(vec![row("easy", Step::Create, Backend::Native, 0, 0, 0.0, servers(30_000, 0))]);
    assert_eq!(report.aims, []);
    assert_eq!(report.rows[0].rate(), 0.0);
    assert_eq!(report.rows[0].us_per_item(Some(5)), None);
}

#[test]
fn an_interrupted_benchmark_claims_no_aims() {
    let rows = vec![row("easy", Step::Create, Backend::Native, 1000, 0, 0.5, servers(30_000, 0))];
    let mut report = Report { interrupted: true, ..report(rows) };
    report.aims.clear();
    report.finish();
    assert_eq!(report.aims, []);
}

#[test]
fn the_table_is_what_people_read() {
    let report = report(vec![
        row("easy", Step::Create, Backend::Native, 1000, 0, 0.5, servers(30_000, 0)),
        row("easy", Step::Create, Backend::Local, 1000, 0, 0.1, Cpu { driver_us: Some(9_000), ..Cpu::default() }),
    ]);
    let text = render(&report).plain();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(text.starts_with("nyala bench meta: 2 CPUs, Linux 6.18, 2 metadata and 1 storage services"), "{text}");
    let native = ["easy", "create", "native", "4", "1000", "2000", "10.0", "20.5", "300", "20.0ms", "30.0", "0.00"];
    let native = [&native[..], &["0.10", "40.0", "-", "-", "0.20"]].concat();
    let local = ["easy", "create", "local", "4", "1000", "10000", "10.0", "20.5", "300", "20.0ms", "-", "-", "-", "-"];
    let local = [&local[..], &["9.00", "-", "-"]].concat();
    assert!(lines.contains(&native), "{text}");
    assert!(lines.contains(&local), "{text}");
    assert!(text.contains("MISS"), "{text}");
    assert!(!text.contains("Streams"), "{text}");
}

#[test]
fn the_json_has_names_with_units() {
    let report = report(vec![row("easy", Step::WriteFile, Backend::Native, 10, 40_960, 0.5, servers(300, 7))]);
    let json = serde_json::to_value(&report).unwrap();
    let row = &json["rows"][0];
    assert_eq!(row["step"], "write-file");
    assert_eq!(row["place"], "native");
    assert_eq!(row["bytes"], 40_960);
    assert_eq!(row["cpu"]["storage_us"], 7);
    assert_eq!(row["cpu"]["driver_us"], serde_json::Value::Null);
    assert_eq!(row["latency_us"]["p99"], 300.0);
    assert_eq!(json["loopback"]["stream_gib_per_s"], 8.0);
    assert_eq!(json["setting"]["cpus"], 2);
}
