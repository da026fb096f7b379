// SPDX-License-Identifier: Apache-2.0

//! Which processes a start of a program has, whoever started them and in whatever group they are by now: they inherit a variable of its environment.
//!
//! **Failure model.** Processes come and go while they are looked for. Of another user's nothing can be seen: they are not ours.

use rustix::process::Pid;
use std::fs;
use std::path::Path;

/// The variable that marks all processes of a start.
pub const MARK: &str = "NYALA_BENCH_START";

/// Processes that a start left, known by their environment. One that has ended has none.
pub fn marked(output: &Path) -> Vec<Pid> {
    let mark = format!("{MARK}={}", output.display());
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has_mark = |pid: &i32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    numbers.filter(has_mark).filter_map(Pid::from_raw).collect()
}
