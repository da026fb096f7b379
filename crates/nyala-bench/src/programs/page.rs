// SPDX-License-Identifier: Apache-2.0

//! The report as one HTML page with box plots, as the papers draw them. Pure.

use super::figure::Metric;
use super::kind::Program;
use super::report::Report;
use super::rows::Summary;
use crate::page::{Kind, Series, draw, frame};
use crate::report::table::figure;
use maud::{Markup, html};

/// The page; it needs nothing else.
pub fn page(report: &Report) -> String {
    let on = report.setting.mount.as_deref().unwrap_or("no directory");
    let title = format!("Programs on {on}");
    let body = html! {
        h1 { (title) }
        p class="quiet" {
            (report.runs) " runs, on " (report.setting.cpus) " CPUs with Linux " (report.setting.kernel) ". "
            "A box is the middle half of the runs, the line in it their median, \u{25c6} their mean, the whisker all of them, the number beside it the median; of fewer than three runs each is a dot. "
            @if report.verify { "Content was compared with what was written." }
        }
        @for program in Program::ALL { (section(report, program)) }
        (remarks(report))
    };
    frame(
        &title,
        body,
        "Made by nyala bench programs. Figures of a machine that does something else meanwhile say little.",
    )
}

fn section(report: &Report, program: Program) -> Markup {
    let own: Vec<&Summary> = report.figures.iter().filter(|row| row.program == program).collect();
    if own.is_empty() {
        return html! {};
    }
    let used = report.programs.iter().find(|used| used.program == program);
    html! {
        section {
            h2 { (program.name()) @if let Some(version) = used.and_then(|used| used.version.as_ref()) { " " (version) } }
            @for metric in Metric::ALL { (plot(&own, metric)) }
            details open { summary { "Figures" } (table(&own)) }
            details { summary { "Command lines" }
                ul { @for one in report.commands.iter().filter(|one| one.program == program) {
                    li { (one.workload) ", " (one.step) @if one.cold { ", with empty caches" } ": " code { (one.command) } }
                } }
            }
        }
    }
}

fn plot(rows: &[&Summary], metric: Metric) -> Markup {
    let of = |row: &&&Summary| row.metric == metric;
    let series = rows.iter().filter(of).map(|row| Series::of(row.what(), &row.values));
    let series: Vec<Series> = series.collect();
    html! { @if !series.is_empty() { h3 { (metric.title()) ", " (metric.unit()) } (draw(metric.title(), metric.unit(), &series, None, Kind::Repeated)) } }
}

fn table(rows: &[&Summary]) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr {
                th { "Workload" } th { "Unit" }
                @for head in ["Least", "Quartile", "Median", "Quartile", "Most", "Mean", "Runs"] { th class="number" { (head) } }
            } }
            tbody { @for row in rows { tr {
                th { (row.what()) } td { (row.metric.label()) }
                @for value in [row.min, row.q1, row.median, row.q3, row.max, row.mean] { td class="number" { (figure(Some(value))) } }
                td class="number" { (row.runs) }
            } } }
        } }
    }
}

/// What failed, what is not here, and what the reader must know.
fn remarks(report: &Report) -> Markup {
    let Report { failures, missing, notes, .. } = report;
    html! {
        @if !(failures.is_empty() && missing.is_empty() && notes.is_empty()) {
            section {
                h2 { "Remarks" }
                ul {
                    @for one in failures { li class="worse" { (one.program.name()) " " (one.workload) ", " (one.step) " of run " (one.run) ": " (one.why) } }
                    @for one in missing { li { (one.program.name()) " is not installed: " (one.install) } }
                    @for note in notes { li { (note) } }
                }
            }
        }
    }
}
