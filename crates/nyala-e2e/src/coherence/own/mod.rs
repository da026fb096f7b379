// SPDX-License-Identifier: Apache-2.0

//! Small files of several tasks that work at once, each with files of its own: what is done to a file is there at once for whoever did it, whatever is
//! under way with others, and whatever of the file itself is being sent just then.
//!
//! Failure model: a change may be answered while what was written before it is on its way, and the answer be taken for newer than that.

mod expected;
mod task;

use super::number;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use task::Task;

/// More than the smallest machine that tests run on has processors.
const TASKS: usize = 4;
/// Directories that all tasks work in.
const SUBDIRS: [&str; 2] = ["p", "q"];

/// `SEED STEPS DIR…`: steps of each task; the directories are one directory, as several mounts have it.
pub fn run(args: &[&str]) -> Result<(), String> {
    let [seed, steps, dirs @ ..] = args else { return Err(super::USAGE.to_owned()) };
    let (seed, steps): (u64, u64) = (number(seed)?, number(steps)?);
    let dirs: Vec<PathBuf> = dirs.iter().map(PathBuf::from).collect();
    let Some(first) = dirs.first() else { return Err(super::USAGE.to_owned()) };
    for subdir in SUBDIRS {
        std::fs::create_dir(first.join(subdir)).map_err(|error| format!("{subdir}: {error}"))?;
    }
    let stop = AtomicBool::new(false);
    let results: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let begin = |number| {
            let mut task = Task::new(seed, number, &dirs);
            let stop = &stop;
            scope.spawn(move || {
                let done =
                    (0..steps).take_while(|_| !stop.load(Ordering::Relaxed)).try_for_each(|step| task.step(step));
                stop.fetch_or(done.is_err(), Ordering::Relaxed);
                done.and_then(|()| task.remove_all()).map_err(|why| format!("seed {seed} task {number} {why}"))
            })
        };
        let tasks: Vec<_> = (0..TASKS).map(begin).collect();
        let joined = tasks.into_iter().map(|task| task.join());
        joined.map(|joined| joined.unwrap_or_else(|_| Err("a task panicked".to_owned()))).collect()
    });
    results.into_iter().collect()
}
