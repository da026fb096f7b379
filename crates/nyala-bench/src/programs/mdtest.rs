// SPDX-License-Identifier: Apache-2.0

//! mdtest: its command lines, and the summary in its text. Pure.
//!
//! Files in a directory of each task's own, empty, and files of 3,901 bytes in one directory for all: created, looked at, read, removed.

use super::figure::{Figure, Metric, Parsed, Problem, Wanted};
use super::kind::Program;
use super::workload::{Sizes, Start, Workload, line};

/// Content of a file in the directory that all share.
const CONTENT: u64 = 3901;
/// Room that the content and the names of a file need, at most.
const ROOM: u64 = 16 << 10;
/// What the summary calls our operations.
const NAMES: [(&str, &str); 4] =
    [("create", "File creation"), ("stat", "File stat"), ("read", "File read"), ("remove", "File removal")];
const OPERATIONS: &[&str] = &["create", "stat", "read", "remove"];

/// All of them.
pub fn workloads(sizes: &Sizes) -> Vec<Workload> {
    let verify = if sizes.verify { "-X" } else { "" };
    let own = format!("-d . -i 1 -b 1 -z 1 -L -I {} -y -u -t -F", sizes.files);
    let shared = format!("-d . -i 1 -n {} -w {CONTENT} -e {CONTENT} {verify} -F", sizes.files);
    let of = |name, args: &str| Workload {
        program: Program::Mdtest,
        name,
        starts: vec![Start::new("all", line(args, &[]), OPERATIONS, Metric::Rate)],
        bytes: u64::from(sizes.tasks) * sizes.files * ROOM,
    };
    vec![of("own-directory", &own), of("shared-directory", &shared)]
}

/// The numbers of a line of the summary; old versions have a colon behind the name.
fn numbers<'a>(line: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let rest = line.trim_start().strip_prefix(name)?;
    let rest = rest.trim_start();
    Some(rest.strip_prefix(':').unwrap_or(rest).split_whitespace().collect())
}

/// Its text: in the summary, most, least, mean and deviation of an operation.
pub fn parse(text: &str, wanted: &Wanted) -> Result<Parsed, Problem> {
    if let Some(line) = text.lines().find(|line| line.trim_start().starts_with("ERROR")) {
        return Err(Problem::Said(line.trim().to_owned()));
    }
    let mut lines = text.lines();
    lines.find(|line| line.starts_with("SUMMARY")).ok_or_else(|| Problem::missing("line that begins with SUMMARY"))?;
    let summary: Vec<&str> = lines.collect();
    let mut figures = Vec::new();
    for operation in wanted.operations {
        let named = NAMES.iter().find(|(ours, _)| ours == operation).map(|(_, theirs)| *theirs);
        let name = named.ok_or_else(|| Problem::missing(format!("operation {operation}")))?;
        let row = summary.iter().find_map(|line| numbers(line, name));
        let row = row.ok_or_else(|| Problem::missing(format!("line of {name} in the summary")))?;
        let mean = row.get(2).and_then(|mean| mean.parse().ok()).unwrap_or_default();
        // What was not done is 0 there.
        let value = Problem::positive(mean, || format!("mean of {name} in the summary"))?;
        figures.push(Figure { operation, metric: wanted.metric, value });
    }
    let named = text.lines().find_map(|line| line.strip_prefix("mdtest-")?.split_whitespace().next());
    Ok(Parsed { version: named.map(str::to_owned), figures })
}

#[cfg(test)]
mod tests;
