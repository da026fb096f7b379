// SPDX-License-Identifier: Apache-2.0

//! Whole workloads through engine and system calls, on a temporary directory.

use super::driver::posix::Posix;
use super::driver::{Content, Site};
use super::engine::Workers;
use super::plan::fill::Fill;
use super::plan::{Step, Workload, data, meta};
use super::stop::Stop;
use std::path::Path;
use std::sync::Arc;

fn content() -> Content {
    Content { fill: Arc::new(Fill::new(5, 1 << 20)), verify: true }
}

fn data_sizes() -> data::Sizes {
    data::Sizes { tasks: 3, bytes: 1 << 20, transfer: 256 << 10, random: 20, seed: 5 }
}

/// Runs all phases; `between` may disturb what is there after each.
async fn all(
    base: &Path,
    workload: &Workload,
    stop: &Stop,
    mut between: impl FnMut(Step),
) -> Result<Vec<(Step, u64, u64)>, String> {
    let site = Arc::new(Posix::new(base.to_path_buf()));
    let workers = Workers::start(&site, 3)?;
    site.prepare(&workload.dirs).await?;
    let (mut made, mut seen) = (Vec::new(), Vec::new());
    let mut result = Ok(());
    for phase in &workload.phases {
        match workers.run(phase, &made, &content(), None, stop).await {
            Ok(outcome) => {
                assert_eq!(outcome.latency.count(), outcome.done.iter().sum::<u64>());
                seen.push((phase.step, outcome.items, outcome.bytes));
                if phase.step.makes() {
                    made = outcome.done;
                }
            }
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        between(phase.step);
    }
    site.clean_up().await?;
    assert!(!base.exists(), "nothing is left");
    result.map(|()| seen)
}

#[tokio::test]
async fn every_workload_runs_to_its_end_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("bench");
    let sizes = meta::Sizes { tasks: 3, files: 7, seed: 5 };
    let stop = Stop::default();
    let mut steps = Vec::new();
    for workload in [meta::easy(sizes), meta::hard(sizes), meta::small(sizes), meta::dirs(sizes)] {
        let seen = all(&base, &workload, &stop, |_| {}).await.unwrap();
        for (step, items, bytes) in seen {
            let each =
                if step == Step::WriteFile || step == Step::ReadFile { workload.phases[0].bytes as u64 } else { 0 };
            // Four listings of seven entries by each of three tasks.
            let count = if matches!(step, Step::List | Step::ListPlus) { 84 } else { 21 };
            assert_eq!((items, bytes), (count, 21 * each), "{} {step:?}", workload.name);
            steps.push(step);
        }
    }
    let sizes = data_sizes();
    for workload in [data::easy(sizes), data::hard(sizes), data::random(sizes)] {
        let seen = all(&base, &workload, &stop, |_| {}).await.unwrap();
        for ((step, _, bytes), phase) in seen.iter().zip(&workload.phases) {
            assert_eq!(*bytes, 3 * phase.count * phase.bytes as u64, "{} {step:?}", workload.name);
            steps.push(*step);
        }
    }
    assert_eq!(steps.len(), 5 + 4 + 3 + 3 + 2 + 2 + 3);
}

#[tokio::test]
async fn a_changed_byte_ends_the_phase_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("bench");
    let flip = |file: &Path, at: usize| {
        let mut data = std::fs::read(file).unwrap();
        data[at] ^= 1;
        std::fs::write(file, data).unwrap();
    };
    let damage = |step| {
        if step == Step::Write {
            flip(&base.join("easy/data.1"), 300_000);
        }
    };
    let error = all(&base, &data::easy(data_sizes()), &Stop::default(), damage).await.unwrap_err();
    assert!(error.contains("data.1") && error.contains("300000"), "{error}");
    let damage = |step| {
        if step == Step::WriteFile {
            flip(&base.join("hard/f.2.3"), 3900);
        }
    };
    let hard = meta::hard(meta::Sizes { tasks: 3, files: 7, seed: 5 });
    let error = all(&base, &hard, &Stop::default(), damage).await.unwrap_err();
    assert!(error.contains("f.2.3") && error.contains("3900"), "{error}");
}

#[tokio::test]
async fn what_is_missing_is_an_error_and_not_a_wait() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("bench");
    let damage = |step| {
        if step == Step::Write {
            std::fs::remove_file(base.join("easy/data.0")).unwrap();
        }
    };
    let error = all(&base, &data::easy(data_sizes()), &Stop::default(), damage).await.unwrap_err();
    assert!(error.contains("cannot open") && error.contains("data.0"), "{error}");
}

#[tokio::test]
async fn a_wish_to_stop_ends_phases_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    stop.ask();
    let easy = meta::easy(meta::Sizes { tasks: 3, files: u64::MAX, seed: 5 });
    let seen = all(&dir.path().join("bench"), &easy, &stop, |_| {}).await.unwrap();
    assert!(seen.iter().all(|(_, items, _)| *items == 0), "{seen:?}");
}
