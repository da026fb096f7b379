// SPDX-License-Identifier: Apache-2.0

//! The report for people. Pure.

use super::report::Report;
use crate::document::{Document, Table};
use crate::report::table::figure;

/// Programs, figures, and what failed.
pub fn document(report: &Report) -> Document {
    let mut document = Document::default();
    let setting = &report.setting;
    let on = setting.mount.as_deref().unwrap_or("-");
    document.text(format!(
        "nyala bench programs: {} runs on {on}, {} CPUs, Linux {}{}\n",
        report.runs,
        setting.cpus,
        setting.kernel,
        if report.verify { ", content verified" } else { "" }
    ));
    for used in &report.programs {
        let version = used.version.as_deref().unwrap_or("of unknown version");
        let tasks = if used.tasks == 1 { "one task".to_owned() } else { format!("{} tasks", used.tasks) };
        document.text(format!("{} {version}, {tasks}\n", used.program));
    }
    for missing in &report.missing {
        document.text(format!("{} is not installed: {}\n", missing.program, missing.install));
    }
    if !report.figures.is_empty() {
        let heads = ["PROGRAM", "WORKLOAD", "OPERATION", "UNIT", "RUNS", "MIN", "Q1", "MEDIAN", "Q3", "MAX", "MEAN"];
        let mut table = Table::new(&heads);
        for row in &report.figures {
            let begin = [row.program.name(), row.workload, row.operation, row.metric.label()].map(str::to_owned);
            let figures = [row.min, row.q1, row.median, row.q3, row.max, row.mean].map(|value| figure(Some(value)));
            table.row(begin.into_iter().chain([row.runs.to_string()]).chain(figures));
        }
        document.text("\n");
        document.table(table);
    }
    for failed in &report.failures {
        let (program, workload, step) = (failed.program, failed.workload, failed.step);
        document.text(format!("failed: {program} {workload}, {step} of run {}: {}\n", failed.run, failed.why));
    }
    if let Some(outputs) = &report.outputs {
        document.text(format!("outputs of what failed are in {}\n", outputs.display()));
    }
    report.notes.iter().for_each(|note| document.text(format!("note: {note}\n")));
    document
}
