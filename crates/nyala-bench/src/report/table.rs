// SPDX-License-Identifier: Apache-2.0

//! The report for people.

use super::aim::Aim;
use super::{Backend, Report, Row};
use crate::document::{Document, Table};

/// Three digits of a figure.
pub fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value >= 100.0 => format!("{value:.0}"),
        Some(value) if value >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

/// Only what is worth a column where times are long.
fn micros(value: f64) -> String {
    if value >= 10_000.0 { format!("{:.1}ms", value / 1000.0) } else { figure(Some(value)) }
}

fn ratio(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn head(row: &Row) -> [String; 3] {
    let backend = format!("{}{}", row.backend.name(), if row.cached { "*" } else { "" });
    [row.workload.to_owned(), row.step.name().to_owned(), backend]
}

fn latencies(row: &Row) -> [String; 4] {
    let all = row.latency_us;
    [all.p50, all.p90, all.p99, all.max].map(micros)
}

fn cpu(row: &Row, each: impl Fn(Option<u64>) -> Option<f64>) -> [String; 5] {
    let cpu = row.cpu;
    [cpu.meta_us, cpu.storage_us, cpu.mgmt_us, cpu.client_us, cpu.driver_us].map(|us| figure(each(us)))
}

fn operations(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        "WORKLOAD",
        "OPERATION",
        "WHERE",
        "TASKS",
        "OPS",
        "PER-S",
        "P50-US",
        "P90",
        "P99",
        "MAX",
        "META-US",
        "STORAGE-US",
        "MGMT-US",
        "CLIENT-US",
        "DRIVER-US",
        "REQUESTS",
        "OF-LOCAL",
    ]);
    for row in rows {
        let requests = row.requests.map(|all| (all.meta + all.storage) as f64 / row.ops.max(1) as f64);
        let counts = [row.tasks.to_string(), row.items.to_string(), format!("{:.0}", row.rate())];
        let cells = head(row).into_iter().chain(counts).chain(latencies(row));
        let cells = cells.chain(cpu(row, |us| row.us_per_item(us)));
        table.row(cells.chain([figure(requests), ratio(row.of_local)]));
    }
    table
}

fn streams(rows: &[&Row], tcp_gib_per_s: f64) -> Table {
    let mut table = Table::new(&[
        "WORKLOAD",
        "OPERATION",
        "WHERE",
        "TASKS",
        "GIB",
        "GIB-PER-S",
        "P50-US",
        "P90",
        "P99",
        "MAX",
        "META-S",
        "STORAGE-S",
        "MGMT-S",
        "CLIENT-S",
        "DRIVER-S",
        "OF-LOCAL",
        "OF-TCP",
    ]);
    for row in rows {
        let of_tcp = (row.backend != Backend::Local).then(|| row.gib_per_s() / tcp_gib_per_s);
        let amounts = [row.tasks.to_string(), figure(Some(row.gib())), figure(Some(row.gib_per_s()))];
        let cells = head(row).into_iter().chain(amounts).chain(latencies(row));
        let cells = cells.chain(cpu(row, |us| row.s_per_gib(us)));
        table.row(cells.chain([ratio(row.of_local), ratio(of_tcp)]));
    }
    table
}

/// Figures next to what they should be.
pub fn aims(aims: &[Aim]) -> Table {
    let mut table = Table::new(&["AIM", "MEASURED", "WANTED", "RATIO", "RESULT"]);
    for aim in aims {
        table.row([aim.what.clone(), aim.measured(), aim.wanted(), ratio(aim.ratio()), aim.result().to_owned()]);
    }
    table
}

/// The whole report.
pub fn render(report: &Report) -> Document {
    let (streamed, single): (Vec<&Row>, Vec<&Row>) = report.rows.iter().partition(|row| row.is_stream());
    let setting = &report.setting;
    let mut text = format!(
        "nyala bench {}: {} CPUs, Linux {}, {} metadata and {} storage services, native client on {} threads\n",
        report.bench, setting.cpus, setting.kernel, setting.meta, setting.storage, setting.native_threads
    );
    let tcp = &report.loopback;
    let trip = figure(Some(tcp.round_trip_us.p50));
    text += &format!(
        "loopback TCP: 128 B round trip {trip} µs, {:.1} µs of CPU (both sides); stream {:.2} GiB/s, {:.3} s of CPU per GiB\n",
        tcp.round_trip_cpu_us, tcp.stream_gib_per_s, tcp.stream_cpu_s_per_gib
    );
    let mut document = Document::default();
    document.text(text);
    let mut part = |title: &str, table: Table| {
        document.text(format!("\n{title}\n"));
        document.table(table);
    };
    if !single.is_empty() {
        part("Operations (CPU: microseconds per operation)", operations(&single));
    }
    if !streamed.is_empty() {
        part("Streams (CPU: seconds per GiB)", streams(&streamed, tcp.stream_gib_per_s));
    }
    if !report.aims.is_empty() {
        part("Aims of the design", aims(&report.aims));
    }
    report.notes.iter().for_each(|note| document.text(format!("note: {note}\n")));
    document
}
