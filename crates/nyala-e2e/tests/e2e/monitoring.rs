// SPDX-License-Identifier: Apache-2.0

//! The monitoring service beside a real InfluxDB and a real Prometheus: all of them say what the load counted, and an outage leaves no gap.

mod dashboards;
mod influx_dashboards;
pub mod programs;
mod resync_rules;
mod top;

use crate::metrics::turn_on;
use nyala_e2e::{Cluster, Options, beside_others};
use programs::{InfluxDb, Mon, get, prometheus, value};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const LINKS: u32 = 400;
const WRITES: u32 = 24;
const WRITE_BYTES: usize = 1 << 20;
/// Rounds of samples, and scrapes, after which everything has been seen.
const SETTLED: Duration = Duration::from_secs(3);
const OUTAGE: Duration = Duration::from_secs(6);

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Makes symbolic links with these names, and removes half of them.
fn links(dir: &Path, names: std::ops::Range<u32>) {
    for name in names {
        std::os::unix::fs::symlink("nowhere", dir.join(name.to_string())).unwrap();
        if name % 2 == 0 {
            fs::remove_file(dir.join(name.to_string())).unwrap();
        }
    }
}

fn large(path: &Path) {
    let (mut file, piece) = (File::create(path).unwrap(), vec![7; WRITE_BYTES]);
    (0..WRITES).for_each(|_| file.write_all(&piece).unwrap());
    file.sync_all().unwrap();
}

/// What is counted: metric, its suffix in Prometheus, field in InfluxDB, operation, and how many there were.
const COUNTED: [(&str, &str, &str, &str, f64); 5] = [
    ("nyala_fuse_request_duration_seconds", "_count", "count", "symlink", LINKS as f64),
    ("nyala_fuse_request_duration_seconds", "_count", "count", "unlink", LINKS as f64 / 2.0),
    ("nyala_meta_request_duration_seconds", "_count", "count", "symlink", LINKS as f64),
    ("nyala_storage_target_written_bytes", "_total", "value", "", WRITES as f64 * WRITE_BYTES as f64),
    ("nyala_client_written_bytes", "_total", "value", "", WRITES as f64 * WRITE_BYTES as f64),
];

fn is_near(what: &str, got: f64, counted: f64) {
    println!("{what}: {got}, counted {counted}");
    assert!((got - counted).abs() <= 0.05 * counted, "{what}: {got}, but the load counted {counted}");
}

#[test]
fn e2e_monitoring_says_what_the_load_counted() {
    let _one = beside_others();
    let cluster = Cluster::start(Options { meta: 1, storage: 2, storage_services: 1, ..Options::default() });
    let addresses = turn_on(&cluster);
    let mut influx = InfluxDb::start(&cluster);
    let (_prometheus, prometheus) = prometheus(&cluster, &addresses);
    let mut mon = Mon::start(&cluster, influx.address);
    sources(&mut mon);
    let dir = cluster.test_dir("monitored");
    // sleeps: rounds of samples and scrapes
    std::thread::sleep(SETTLED);
    let from_prometheus = |metric: &str, suffix: &str, op: &str| {
        let filter = if op.is_empty() { String::new() } else { format!("{{op=\"{op}\"}}") };
        value(prometheus, &format!("sum({metric}{suffix}{filter})"))
    };
    let totals = |influx: &InfluxDb| {
        COUNTED.map(|(metric, suffix, field, op, _)| {
            (influx.total(metric, field, op), from_prometheus(metric, suffix, op))
        })
    };
    let (before, from_ms) = (totals(&influx), now_ms());
    links(&dir, 0..LINKS);
    large(&dir.join("large"));
    // sleeps: rounds of samples and scrapes
    std::thread::sleep(SETTLED);
    let (after, to_ms) = (totals(&influx), now_ms());
    for (((metric, _, field, op, counted), before), after) in COUNTED.into_iter().zip(before).zip(after) {
        is_near(&format!("InfluxDB, {metric} {op}"), after.0 - before.0, counted);
        is_near(&format!("Prometheus, {metric} {op}"), after.1 - before.1, counted);
        let op = if op.is_empty() { String::new() } else { format!("&label.op={op}") };
        let query = format!("metric={metric}&field={field}{op}");
        is_near(&format!("history, {query}"), mon.total(&query, to_ms) - mon.total(&query, from_ms), counted);
    }
    outage(&cluster, &mut influx);
    outlives(&mut mon, from_ms, to_ms);
    refuses(&mon);
}

/// It found everybody, the mount included, by asking management.
fn sources(mon: &mut Mon) {
    let metrics = mon.metrics;
    mon.program.until("all answer", || {
        let Some((200, page)) = get(metrics, "/metrics", None) else { return false };
        let answers =
            |service: &str| page.contains(&format!("nyala_mon_sources{{service=\"{service}\",answers=\"yes\"}} 1"));
        ["mgmtd", "meta", "storage", "mount"].into_iter().all(answers)
    });
    let sources = mon.ask("/api/v1/sources");
    let names: Vec<&str> =
        sources["sources"].as_array().unwrap().iter().map(|one| one["instance"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{sources}");
    assert!(names.contains(&"meta1") && names.iter().any(|name| name.ends_with("/mnt")), "{sources}");
}

/// The database is away for a while; later it has what happened meanwhile, sample by sample.
fn outage(cluster: &Cluster, influx: &mut InfluxDb) {
    let dir = cluster.test_dir("outage");
    let metric = "nyala_fuse_request_duration_seconds";
    let before = influx.total(metric, "count", "symlink");
    influx.program.stop(libc::SIGTERM);
    let (from_ms, began, mut made) = (now_ms(), Instant::now(), 0);
    while began.elapsed() < OUTAGE {
        links(&dir, made..made + 10);
        made += 10;
        // sleeps: the load of an outage: some links, again and again
        std::thread::sleep(Duration::from_millis(100));
    }
    let to_ms = now_ms();
    influx.restart();
    // The longest pause after failures of so long an outage, and a round.
    // sleeps: the longest pause after failures of so long an outage, and a round
    std::thread::sleep(Duration::from_secs(12));
    is_near("InfluxDB, after the outage", influx.total(metric, "count", "symlink") - before, f64::from(made));
    let rows = influx.query(&format!(
        "SELECT \"count\" FROM \"{metric}\" WHERE op = 'symlink' AND time >= {from_ms}ms AND time <= {to_ms}ms"
    ));
    let times: Vec<u64> = rows[0]["values"].as_array().unwrap().iter().map(|row| row[0].as_u64().unwrap()).collect();
    let ends = [from_ms].into_iter().chain(times.iter().copied()).chain([to_ms]);
    let gap = ends.clone().zip(ends.skip(1)).map(|(one, next)| next - one).max().unwrap();
    println!("{} points in {} ms of outage, the longest gap is {gap} ms", times.len(), to_ms - from_ms);
    assert!(gap < 2500, "{times:?}");
}

/// The history is there after the service was killed, and goes on.
fn outlives(mon: &mut Mon, from_ms: u64, to_ms: u64) {
    let query = "metric=nyala_client_written_bytes";
    let before = mon.grew(query, from_ms, to_ms);
    let written = get(mon.metrics, "/metrics", None).unwrap().1;
    assert!(
        written.contains("nyala_mon_influx_refused_batches_total 0\n")
            && written.contains("nyala_mon_dropped_samples_total 0\n"),
        "{written}"
    );
    mon.restart();
    assert_eq!(mon.grew(query, from_ms, to_ms), before);
    let restarted = now_ms();
    // sleeps: rounds of samples and scrapes
    std::thread::sleep(SETTLED);
    let answer = mon.ask(&format!("/api/v1/history?{query}&from={restarted}&step=1s"));
    assert!(answer["series"][0]["points"].as_array().is_some_and(|points| points.len() >= 2), "{answer}");
}

fn refuses(mon: &Mon) {
    let path = "/api/v1/history?metric=nyala_client_written_bytes";
    assert_eq!((mon.status(path, None), mon.status(path, Some("0123456789abcdef"))), (401, 401));
    let token = mon.token();
    for (path, status) in
        [("/api/v1/nothing", 404), ("/api/v1/history", 400), ("/api/v1/history?metric=nothing", 400), (path, 200)]
    {
        assert_eq!(mon.status(path, Some(&token)), status, "{path}");
    }
}
