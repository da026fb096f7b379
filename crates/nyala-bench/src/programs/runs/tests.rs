// SPDX-License-Identifier: Apache-2.0

//! All runs of a script that stands for a program: figures, failures, a wish to stop.

use super::super::kind::Program;
use super::super::options::Options;
use super::super::workload::Sizes;
use super::*;
use crate::page;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// A job for mdtest, which is a script.
struct Stand {
    dir: tempfile::TempDir,
    job: ProgramsJob,
}

/// What mdtest prints of a run in which it creates so many a second.
const SUMMARY: &str = "mdtest-4.0.0 was launched\nSUMMARY rate: (of 1 iterations)\n\
    File creation 9 9 $RATE 0\nFile stat 9 9 200 0\nFile read 9 9 300 0\nFile removal 9 9 400 0\n";

fn stand(script: &str, limit: Duration) -> Stand {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mdtest");
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    for made in ["on", "outputs"] {
        std::fs::create_dir(dir.path().join(made)).unwrap();
    }
    let options = Options {
        on: dir.path().join("on"),
        outputs: dir.path().join("outputs"),
        programs: vec![Program::Mdtest],
        sizes: Sizes { tasks: 2, bytes: 1 << 20, random: 10, files: 10, verify: false },
        runs: 3,
        limit,
        keep_caches: true,
    };
    let job = ProgramsJob::of(options, |name| (name == "mdtest").then(|| file.clone())).unwrap();
    Stand { dir, job }
}

fn entries(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn figures_are_of_all_runs_and_nothing_stays() {
    // The rate is the number of the run, which its directory begins with.
    let script = format!("RATE=$(basename \"$PWD\" | cut -d- -f1); touch left; cat <<END\n{SUMMARY}END");
    let stand = stand(&script, LONG);
    let report = run(&stand.job, &Stop::default()).unwrap();
    assert_eq!((report.failures.len(), report.interrupted, &report.outputs), (0, false, &None));
    let row = &report.figures[0];
    assert_eq!((row.what().as_str(), &row.values[..]), ("own-directory create", &[1.0, 2.0, 3.0][..]));
    assert_eq!((row.median, row.q1, report.figures.len(), stand.job.ended.count()), (2.0, 1.5, 8, stand.job.phases()));
    assert_eq!(report.programs[0].version.as_deref(), Some("4.0.0"));
    assert!(report.notes[0].contains("openmpi-bin") && report.programs[0].tasks == 1, "{:?}", report.notes);
    assert_eq!(report.commands.len(), 2, "{:?}", report.commands);
    assert_eq!((entries(&stand.job.options.on), entries(&stand.job.options.outputs)), (0, 0));
    let drawn = super::super::page(&report);
    assert_eq!((drawn.matches("class=\"box\"").count(), drawn.matches("class=\"mean\"").count()), (8, 8), "{drawn}");
    let stored = page::read("file", &serde_json::to_string(&report).unwrap()).unwrap();
    assert!(stored.tables.iter().any(|(name, table)| name == "programs: figures" && table.rows.len() == 8));
}

#[test]
fn a_workload_that_fails_is_told_and_left_out() {
    let script = format!("case $PWD in *own*) echo too bad >&2; exit 7;; esac; RATE=1; cat <<END\n{SUMMARY}END");
    let stand = stand(&script, LONG);
    let report = run(&stand.job, &Stop::default()).unwrap();
    let failed = &report.failures[..];
    assert_eq!((failed.len(), failed[0].workload, failed[0].run), (1, "own-directory", 1));
    assert!(failed[0].why.contains("status: 7: too bad"), "{failed:?}");
    assert!(report.figures.iter().all(|row| row.workload == "shared-directory" && row.runs == 3));
    let outputs = report.outputs.unwrap();
    let told = std::fs::read_to_string(outputs.join("1-mdtest-own-directory-all.err")).unwrap();
    assert_eq!((told.as_str(), entries(&outputs), entries(&stand.job.options.on)), ("too bad\n", 2, 0));
    assert_eq!(stand.job.ended.count(), stand.job.phases());
}

#[test]
fn an_output_that_is_not_understood_is_named() {
    let stand = stand("echo hello", LONG);
    let report = run(&stand.job, &Stop::default()).unwrap();
    let why = &report.failures[0].why;
    assert!(why.starts_with("mdtest: the output has no line that begins with SUMMARY; its output is /"), "{why}");
    let file = why.rsplit_once(' ').unwrap().1;
    assert_eq!((std::fs::read_to_string(file).unwrap().as_str(), report.figures.len()), ("hello\n", 0));
    let shown = super::super::document(&report).plain();
    assert!(
        shown.contains("failed: mdtest own-directory, all of run 1: ") && shown.contains("outputs of what failed"),
        "{shown}"
    );
}

#[test]
fn what_was_measured_before_a_wish_to_stop_is_reported() {
    let script =
        format!("case $PWD in *shared*) touch ../../../waits; sleep 100;; esac; RATE=5; cat <<END\n{SUMMARY}END");
    let stand = stand(&script, LONG);
    let (stop, waits) = (Stop::default(), stand.dir.path().join("waits"));
    let asks = stop.clone();
    let asking = std::thread::spawn(move || {
        while !waits.exists() {
            std::thread::yield_now();
        }
        asks.ask();
    });
    let report = run(&stand.job, &stop).unwrap();
    asking.join().unwrap();
    assert!(report.interrupted && report.failures.is_empty(), "{:?}", report.failures);
    assert!(report.figures.len() == 4 && report.figures.iter().all(|row| row.runs == 1), "{:?}", report.figures);
    assert_eq!((entries(&stand.job.options.on), entries(&stand.job.options.outputs)), (0, 0));
}

#[test]
fn without_any_program_there_is_nothing_to_do() {
    let options = stand("", LONG).job.options;
    let error = ProgramsJob::of(options, |_| None).unwrap_err().to_string();
    assert!(error.contains("mdtest is not installed: it comes with ior"), "{error}");
}
