// SPDX-License-Identifier: Apache-2.0

//! Tables of what was done between two rounds of samples.

use super::busy_rows;
use super::cell::Cell;
use super::change::{Change, label_of, requests};
use super::tab::Tab;
use super::who::{clients, users};
use nyala_metrics::catalog::Source;
use nyala_mon::logic::series::{Field, Key};
use nyala_mon::{Busy, Round};
use std::time::Duration;

/// A row: a value for each head.
pub type Row = Vec<Cell>;

/// All tables, and who did not answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    rows: [Vec<Row>; Tab::COUNT],
    /// Who did not answer, and why.
    pub silent: Vec<(String, String)>,
    /// Requests in a second, of all services, and bytes read and written at storage.
    pub total: (f64, f64, f64),
}

impl Tables {
    /// The rows of a table.
    pub fn rows(&self, tab: Tab) -> &[Row] {
        &self.rows[tab as usize]
    }

    /// What files and directories are the busiest, and who did not say so.
    pub fn add_busy(&mut self, busy: &Busy) {
        self.rows[Tab::Files as usize] = busy_rows::files(busy);
        self.rows[Tab::Directories as usize] = busy_rows::directories(busy);
        let is_new = |(name, _): &&(String, String)| self.silent.iter().all(|(known, _)| known != name);
        let silent: Vec<_> = busy.silent.iter().filter(is_new).cloned().collect();
        self.silent.extend(silent);
    }
}

/// An operation that waits for news on purpose says nothing about how fast its service is.
const WAITS: [&str; 2] = ["watch_map", "delegation_poll"];

/// The tables of what was done between two rounds, so far apart.
pub fn tables(before: &Round, now: &Round, apart: Duration) -> Tables {
    let change = Change::between(before, now, apart);
    let silent = now.iter().filter_map(|(instance, answered)| Some((instance.name.clone(), answered.failed.clone()?)));
    let servers = [Source::Mgmtd, Source::Meta, Source::Storage].into_iter().filter_map(requests);
    let asked = servers.map(|(times, _)| change.sum(times, Field::Count, |_| true)).sum();
    let bytes = |metric| change.sum(metric, Field::Value, |_| true);
    let (services, targets) = (services(now, &change), targets(&change));
    let (clients, users, operations) = (clients(&change), users(&change), operations(&change));
    // What is busy is asked for apart.
    let rows = [services, targets, clients, users, operations, Vec::new(), Vec::new()];
    Tables {
        rows,
        silent: silent.collect(),
        total: (asked, bytes("nyala_storage_target_read_bytes"), bytes("nyala_storage_target_written_bytes")),
    }
}

fn services(now: &Round, change: &Change<'_>) -> Vec<Row> {
    let row = |instance: &nyala_mon::Instance| {
        let own = |key: &Key| key.service == instance.service && key.instance == instance.name;
        let (times, errors) = requests(instance.service)?;
        let (read, written) = match instance.service {
            Source::Storage => ("nyala_storage_target_read_bytes", "nyala_storage_target_written_bytes"),
            Source::Mount => ("nyala_client_read_bytes", "nyala_client_written_bytes"),
            _ => ("", ""),
        };
        let bytes = |metric: &str| match metric {
            "" => Cell::None,
            metric => Cell::Bytes(change.sum(metric, Field::Value, own)),
        };
        let serves = |key: &Key| own(key) && !label_of(key, "op").is_some_and(|op| WAITS.contains(&op));
        Some(vec![
            Cell::Text(instance.name.clone()),
            Cell::Text(instance.service.word().to_owned()),
            Cell::Number(change.sum(times, Field::Count, own)),
            Cell::Number(change.sum(errors, Field::Value, own)),
            bytes(read),
            bytes(written),
            Cell::time(change.largest(times, Field::P99, serves)),
            Cell::Percent(100.0 * change.sum("process_cpu_seconds", Field::Value, own)),
            Cell::Bytes(change.sum("process_resident_memory_bytes", Field::Value, own)),
        ])
    };
    let answering = now.iter().filter(|(_, answered)| answered.failed.is_none());
    answering.filter_map(|(instance, _)| row(instance)).collect()
}

fn targets(change: &Change<'_>) -> Vec<Row> {
    let row = |target: &String| {
        let own = |key: &Key| label_of(key, "target") == Some(target);
        let sum = |metric: &str| change.sum(metric, Field::Value, own);
        let (size, free) = (sum("nyala_target_size_bytes"), sum("nyala_target_free_bytes"));
        let served = change.of("nyala_target_size_bytes", Field::Value).find(|(key, _)| own(key));
        let storage = served.as_ref().is_some_and(|(key, _)| key.service == Source::Storage);
        let of_storage = |cell: Cell| if storage { cell } else { Cell::None };
        vec![
            Cell::Text(target.clone()),
            Cell::Text(served.map_or_else(String::new, |(key, _)| key.instance.clone())),
            of_storage(Cell::Number(sum("nyala_storage_target_ops"))),
            of_storage(Cell::Bytes(sum("nyala_storage_target_read_bytes"))),
            of_storage(Cell::Bytes(sum("nyala_storage_target_written_bytes"))),
            of_storage(Cell::Number(sum("nyala_storage_queue_jobs"))),
            Cell::time(change.largest("nyala_storage_queue_wait_duration_seconds", Field::P99, own)),
            Cell::time(change.largest("nyala_storage_disk_sync_duration_seconds", Field::P99, own)),
            if size > 0.0 { Cell::Percent(100.0 * (size - free) / size) } else { Cell::None },
        ]
    };
    change.labels(&["nyala_target_size_bytes"], "target").iter().map(row).collect()
}

fn operations(change: &Change<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for service in Source::ALL {
        let Some((times, errors)) = requests(service) else { continue };
        for op in change.labels(&[times], "op") {
            let own = |key: &Key| label_of(key, "op") == Some(&op);
            let (count, sum) = (change.sum(times, Field::Count, own), change.sum(times, Field::Sum, own));
            rows.push(vec![
                Cell::Text(op.clone()),
                Cell::Text(service.word().to_owned()),
                Cell::Number(count),
                Cell::Number(change.sum(errors, Field::Value, own)),
                if count > 0.0 { Cell::Time(sum / count) } else { Cell::None },
                Cell::time(change.largest(times, Field::P50, own)),
                Cell::time(change.largest(times, Field::P99, own)),
            ]);
        }
    }
    rows
}
