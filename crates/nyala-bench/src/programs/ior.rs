// SPDX-License-Identifier: Apache-2.0

//! IOR: its command lines, and the table of results in its text. Pure.
//!
//! A file for each task with transfers of 1 MiB, one shared file with transfers of 8 MiB, the same with interleaved records of 47,008 bytes,
//! and 4 KiB in random places. Written and read by two starts, so that caches can be emptied between them.

use super::figure::{Figure, MIB, Metric, Parsed, Problem, Wanted};
use super::kind::Program;
use super::workload::{RANDOM_BYTES, Sizes, Start, Workload, line};

/// Records of the shared file that is hard to write.
const RECORD: u64 = 47_008;
/// What makes the content of two starts the same.
const SIGNATURE: &str = "-G 27";

/// A write and a read with the same pattern.
fn both(name: &'static str, pattern: &str, bytes: u64, metric: Metric, sizes: &Sizes) -> Workload {
    // IOR cannot check what is accessed in random order.
    let verify = sizes.verify && metric == Metric::Bandwidth;
    let (check_write, check_read) =
        if verify { (format!("-W {SIGNATURE}"), format!("-R {SIGNATURE}")) } else { Default::default() };
    let args = |does: &str| line(&format!("-a POSIX -i 1 {does} {pattern} -g -k -o ./data"), &[]);
    let starts = vec![
        Start::new("write", args(&format!("-w -e {check_write}")), &["write"], metric),
        Start::new("read", args(&format!("-r {check_read}")), &["read"], metric).cold(),
    ];
    Workload { program: Program::Ior, name, starts, bytes: u64::from(sizes.tasks) * bytes }
}

/// All of them.
pub fn workloads(sizes: &Sizes) -> Vec<Workload> {
    let bytes = sizes.bytes;
    let large = if bytes.is_multiple_of(8 << 20) { "8m" } else { "1m" };
    let records = (bytes / RECORD).max(1);
    let random = sizes.random * RANDOM_BYTES;
    let stream = |name, pattern: String, bytes| both(name, &pattern, bytes, Metric::Bandwidth, sizes);
    vec![
        stream("1m-per-task", format!("-F -t 1m -b {bytes}"), bytes),
        stream("large-shared", format!("-t {large} -b {bytes} -s 1"), bytes),
        stream("47008-shared", format!("-t {RECORD} -b {RECORD} -s {records}"), records * RECORD),
        both("4k-random", &format!("-F -z -t 4k -b {random}"), random, Metric::Rate, sizes),
    ]
}

/// Its text: below a line that names columns there is one line for each access.
pub fn parse(text: &str, wanted: &Wanted) -> Result<Parsed, Problem> {
    if let Some(line) = text.lines().find(|line| line.to_ascii_lowercase().contains("incorrect data on")) {
        return Err(Problem::Said(line.trim().to_owned()));
    }
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let is_head = |row: &Vec<&str>| row.first() == Some(&"access") && row.contains(&"bw(MiB/s)");
    let at = rows.iter().position(is_head).ok_or_else(|| Problem::missing("table with a column bw(MiB/s)"))?;
    let heads = &rows[at];
    let mut figures = Vec::new();
    for operation in wanted.operations {
        let row = rows[at + 1..].iter().find(|row| row.first() == Some(operation) && row.len() == heads.len());
        let row = row.ok_or_else(|| Problem::missing(format!("line of a {operation} below bw(MiB/s)")))?;
        let column = |name: &str| {
            let at = heads.iter().position(|head| *head == name)?;
            row.get(at)?.parse::<f64>().ok()
        };
        let number = |name: &str| {
            Problem::positive(column(name).unwrap_or_default(), || format!("number below {name} of a {operation}"))
        };
        let value = match wanted.metric {
            Metric::Bandwidth => number("bw(MiB/s)")?,
            // Old versions have no column of it.
            _ if !heads.contains(&"IOPS") => number("bw(MiB/s)")? * MIB / (number("xfer(KiB)")? * 1024.0),
            _ => number("IOPS")?,
        };
        figures.push(Figure { operation, metric: wanted.metric, value });
    }
    let named = text.lines().find_map(|line| line.strip_prefix("IOR-")?.split([':', ' ']).next());
    Ok(Parsed { version: named.map(str::to_owned), figures })
}

#[cfg(test)]
mod tests;
