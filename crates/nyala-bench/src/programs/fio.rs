// SPDX-License-Identifier: Apache-2.0

//! fio: its command lines, and its JSON. Pure.
//!
//! Streams of 1 MiB, buffered (with an fsync in the end that counts) and direct, to a file for each job and to one for all; 4 KiB in random
//! places, direct, as IOPS are measured.

use super::figure::{Figure, MIB, Metric, Parsed, Problem, Wanted};
use super::kind::Program;
use super::workload::{OUTPUT, RANDOM_BYTES, Sizes, Start, Workload, line};
use serde_json::Value;

/// Checksums within each block; no files of its own that say how far it came.
const VERIFY: &str = "--verify=crc32c --verify_fatal=1 --verify_state_save=0";

/// What every start has.
fn common(sizes: &Sizes) -> Vec<String> {
    let fixed = "--name=job --directory=. --ioengine=psync --group_reporting --output-format=json --eta=never";
    let own = [format!("--numjobs={}", sizes.tasks), format!("--size={}", sizes.bytes), format!("--output={OUTPUT}")];
    line(fixed, &own)
}

/// Written and then read, 1 MiB at a time.
fn streams(name: &'static str, more: &[String], direct: bool, sizes: &Sizes) -> Workload {
    let direct = if direct { "--direct=1" } else { "" };
    let args = |kind: &str, verify: &str| {
        let verify = if sizes.verify { verify } else { "" };
        [common(sizes), line(&format!("--bs=1m {direct} {kind} {verify}"), more)].concat()
    };
    // What is written has checksums, and they are looked at when it is read: so each figure stays one of its own.
    let write = args("--rw=write --end_fsync=1", &format!("{VERIFY} --do_verify=0"));
    let read = args("--rw=read", VERIFY);
    let starts = vec![
        Start::new("write", write, &["write"], Metric::Bandwidth),
        Start::new("read", read, &["read"], Metric::Bandwidth).cold(),
    ];
    Workload { program: Program::Fio, name, starts, bytes: u64::from(sizes.tasks) * sizes.bytes }
}

/// Read and written in random places of files that are there.
fn random(sizes: &Sizes) -> Workload {
    let layout = [common(sizes), line("--bs=1m --rw=write --end_fsync=1", &[])].concat();
    let amount = [format!("--io_size={}", (sizes.random * RANDOM_BYTES).min(sizes.bytes))];
    let args = |kind: &str| [common(sizes), line(&format!("--bs=4k --direct=1 {kind}"), &amount)].concat();
    let write =
        if sizes.verify { format!("--rw=randwrite {VERIFY} --do_verify=1") } else { "--rw=randwrite".to_owned() };
    let starts = vec![
        Start { step: "layout", args: layout, cold: false, wanted: None },
        Start::new("read", args("--rw=randread"), &["read"], Metric::Rate).cold(),
        Start::new("write", args(&write), &["write"], Metric::Rate),
    ];
    Workload { program: Program::Fio, name: "4k-random-direct", starts, bytes: u64::from(sizes.tasks) * sizes.bytes }
}

/// All of them.
pub fn workloads(sizes: &Sizes) -> Vec<Workload> {
    let shared = ["--filename=shared".to_owned(), format!("--offset_increment={}", sizes.bytes)];
    vec![
        streams("1m-per-job", &[], false, sizes),
        streams("1m-shared", &shared, false, sizes),
        streams("1m-direct", &[], true, sizes),
        random(sizes),
    ]
}

/// Its JSON; notes may stand before it.
pub fn parse(text: &str, wanted: &Wanted) -> Result<Parsed, Problem> {
    let form = |why: String| Problem::Form { form: "JSON of fio", why };
    let begin = if text.starts_with('{') { Some(0) } else { text.find("\n{") };
    let begin = begin.ok_or_else(|| form("no line begins with a brace".into()))?;
    let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter::<Value>();
    let value = values.next().ok_or_else(|| form("it is empty".into()))?.map_err(|error| form(error.to_string()))?;
    let jobs =
        value["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or_else(|| Problem::missing("list of jobs"))?;
    if let Some(error) = jobs.iter().filter_map(|job| job["error"].as_i64()).find(|error| *error != 0) {
        return Err(Problem::Said(format!("a job ended with error {error}")));
    }
    let mut figures = Vec::new();
    // All jobs are one group, so the first has the figures of all.
    for operation in wanted.operations {
        let section = &jobs[0][operation];
        let number = |value: &Value, what: &str| {
            let named = || format!("{what} of a {operation}");
            Problem::positive(value.as_f64().unwrap_or_default(), named)
        };
        let clat = &section["clat_ns"];
        let value = match wanted.metric {
            Metric::Bandwidth => number(&section["bw_bytes"], "bw_bytes")? / MIB,
            _ => number(&section["iops"], "iops")?,
        };
        let mean = number(&clat["mean"], "mean of clat_ns")? / 1000.0;
        let p99 = number(&clat["percentile"]["99.000000"], "percentile of clat_ns")? / 1000.0;
        let all = [(wanted.metric, value), (Metric::LatencyMean, mean), (Metric::LatencyP99, p99)];
        figures.extend(all.map(|(metric, value)| Figure { operation, metric, value }));
    }
    let version = value["fio version"].as_str().map(|version| version.trim_start_matches("fio-").to_owned());
    Ok(Parsed { version, figures })
}

#[cfg(test)]
mod tests;
