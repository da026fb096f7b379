// SPDX-License-Identifier: Apache-2.0

//! elbencho: its command lines, and its CSV. Pure.
//!
//! A file for each thread, 1 MiB at a time in random order, direct, four at once; and small files in a directory of each thread's own. Of
//! its two columns for a figure that of the last thread counts: all work is done by then.

use super::figure::{Figure, Metric, Parsed, Problem, Wanted};
use super::kind::Program;
use super::workload::{OUTPUT, Sizes, Start, Workload, line};

/// Content of a small file, and room for it and its name.
const SMALL: u64 = 4096;
const ROOM: u64 = 16 << 10;
/// What the CSV calls our operations.
const NAMES: [(&str, &str); 6] = [
    ("mkdir", "MKDIRS"),
    ("write", "WRITE"),
    ("stat", "STAT"),
    ("read", "READ"),
    ("remove", "RMFILES"),
    ("rmdir", "RMDIRS"),
];

fn common(sizes: &Sizes, more: &str) -> Vec<String> {
    let verify = if sizes.verify { "--verify 27" } else { "" };
    let own =
        ["--csvfile".to_owned(), OUTPUT.to_owned(), "--resfile".to_owned(), format!("{OUTPUT}.txt"), ".".to_owned()];
    line(&format!("--threads {} --dirs 1 --lat --nolive {verify} {more}", sizes.tasks), &own)
}

/// All of them.
pub fn workloads(sizes: &Sizes) -> Vec<Workload> {
    let tasks = u64::from(sizes.tasks);
    // It writes content that can be checked in order only.
    let rand = if sizes.verify { "" } else { "--rand" };
    let large = format!("--files 1 --size {} --block 1M --iodepth 4 --direct", sizes.bytes);
    let small = format!("--files {} --size {SMALL} --block {SMALL}", sizes.files);
    let streams = vec![
        Start::new("write", common(sizes, &format!("{large} {rand} --mkdirs --write")), &["write"], Metric::Bandwidth),
        Start::new("read", common(sizes, &format!("{large} --rand --read")), &["read"], Metric::Bandwidth).cold(),
    ];
    let ends = format!("{small} --stat --read --delfiles --deldirs");
    let files = vec![
        Start::new("make", common(sizes, &format!("{small} --mkdirs --write")), &["write"], Metric::Rate),
        Start::new("use", common(sizes, &ends), &["stat", "read", "remove"], Metric::Rate).cold(),
    ];
    let of = |name, starts, bytes| Workload { program: Program::Elbencho, name, starts, bytes };
    vec![of("1m-random-direct", streams, tasks * sizes.bytes), of("small-files", files, tasks * sizes.files * ROOM)]
}

/// The fields of a line; one that holds a comma stands in quotes, and a quote in it is doubled.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut quoted) = (vec![String::new()], false);
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let last = all.len() - 1;
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => all[last].extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(String::new()),
            other => all[last].push(other),
        }
    }
    all
}

/// Its CSV: a line of names, and one for each phase.
pub fn parse(text: &str, wanted: &Wanted) -> Result<Parsed, Problem> {
    let mut lines = text.lines().map(fields);
    let heads = lines.next().filter(|heads| heads.iter().any(|head| head == "operation"));
    let heads = heads.ok_or_else(|| Problem::missing("first line with a column operation"))?;
    let rows: Vec<Vec<String>> = lines.collect();
    let column = |row: &[String], name: &str| {
        let at = heads.iter().position(|head| head == name)?;
        row.get(at).cloned()
    };
    let mut figures = Vec::new();
    for operation in wanted.operations {
        let named = NAMES.iter().find(|(ours, _)| ours == operation).map(|(_, theirs)| *theirs);
        let name = named.ok_or_else(|| Problem::missing(format!("operation {operation}")))?;
        let row = rows.iter().find(|row| column(row, "operation").as_deref() == Some(name));
        let row = row.ok_or_else(|| Problem::missing(format!("line of {name}")))?;
        let number = |head: &str| {
            let value = column(row, head).and_then(|text| text.trim().parse().ok()).unwrap_or_default();
            Problem::positive(value, || format!("number in column {head} of {name}"))
        };
        if wanted.metric == Metric::Bandwidth {
            let mean = number("IO lat us [avg]")?;
            figures.push(Figure { operation, metric: Metric::Bandwidth, value: number("MiB/s [last]")? });
            figures.push(Figure { operation, metric: Metric::LatencyMean, value: mean });
        } else {
            figures.push(Figure { operation, metric: Metric::Rate, value: number("entries/s [last]")? });
        }
    }
    let version = rows.first().and_then(|row| column(row, "version")).filter(|version| !version.is_empty());
    Ok(Parsed { version, figures })
}

#[cfg(test)]
mod tests;
