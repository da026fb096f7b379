// SPDX-License-Identifier: Apache-2.0

//! Runs of known figures.

use super::document::document;
use super::*;
use crate::report::Backend;
use crate::report::tests::{report, row as row_of, servers};

fn run(directories: u64, table_bytes: u64) -> Run {
    let before = Held { resident_bytes: 10 << 20, table_bytes: 1000 };
    let mut made = row_of("many", Step::Create, Backend::Native, 1000, 0, 0.5, servers(9_000, 0));
    made.meta_held = Held { resident_bytes: 50 << 20, table_bytes };
    let mut gone = row_of("many", Step::Unlink, Backend::Native, 1000, 0, 0.25, servers(7_000, 0));
    gone.meta_held = before;
    (directories, before, report(vec![made, gone]))
}

#[test]
fn names_are_held_against_what_was_there_before() {
    let found = sum_up(&[run(1, 301_000), run(10, 501_000)]);
    let forms: Vec<_> = found.forms.iter().map(|form| (form.disk_bytes, form.memory_bytes, form.servers)).collect();
    assert_eq!(forms, [(300.0, 25 << 20, 2), (500.0, 25 << 20, 2)]);
    assert_eq!(found.aims.iter().map(|aim| aim.ok).collect::<Vec<_>>(), [true, false]);
    let costs: Vec<_> = found.operations.iter().map(|one| (one.directories, one.rate, one.meta_us)).collect();
    assert_eq!(costs[..2], [(1, 2000.0, Some(9.0)), (1, 4000.0, Some(7.0))]);
    let text = document(&found).plain();
    assert!(text.contains("create") && text.contains("MISS") && text.contains("300"), "{text}");
}

#[test]
fn a_run_without_names_has_no_form_and_misses() {
    let (directories, before, _) = run(1, 0);
    let found = sum_up(&[(directories, before, report(Vec::new()))]);
    assert!(found.forms.is_empty() && !found.aims[0].ok && found.aims[0].why.is_some());
}
