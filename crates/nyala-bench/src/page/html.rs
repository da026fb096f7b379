// SPDX-License-Identifier: Apache-2.0

//! The page.

use super::frame::frame;
use super::loose::Grid;
use super::sections::{aims, section};
use super::series::groups;
use super::stored::Stored;
use crate::report::table::figure;
use maud::{Markup, html};

/// All runs, the oldest first; `left_out` names files that are no runs, with the reason.
pub fn page(runs: &[Stored], left_out: &[(String, String)]) -> String {
    let newest = runs.last().map_or("no runs", |run| run.name.as_str());
    let body = html! {
        h1 { "Benchmarks of Nyala: " (newest) }
        p class="quiet" {
            @match runs.len() {
                0 | 1 => { "One run: there is nothing to compare with." }
                many => {
                    "The newest of " (many) " runs, and how its figures lie among those of all. "
                    "\u{25c6} is the newest run, a box half of the runs around their median, a line all of them; of fewer than three runs each is a dot."
                }
            }
        }
        (machines(runs))
        (aims(runs))
        @for group in groups(runs) { (section(&group)) }
        (others(runs))
        (not_read(left_out))
    };
    frame(
        &format!("Benchmarks: {newest}"),
        body,
        "Made by nyala bench report. Figures of shared machines differ by a third without a reason: only what differs by more is called better or worse.",
    )
}

/// The machine and cluster of each run.
fn machines(runs: &[Stored]) -> Markup {
    let facts = |run: &Stored| run.settings.first().map(|(_, setting)| (setting.cpus, setting.kernel.clone()));
    let all: Vec<_> = runs.iter().filter_map(facts).collect();
    html! {
        section {
            h2 { "Runs and machines" }
            @if all.windows(2).any(|pair| pair[0] != pair[1]) {
                p class="worse" { "These runs were not all made on the same kind of machine or kernel: compare them with care." }
            }
            div class="scroll" { table {
                thead { tr {
                    @for head in ["Run", "CPUs", "Kernel", "Metadata services", "Storage services", "Threads of the client"] { th { (head) } }
                    @for head in ["Loopback round trip, µs", "its CPU, µs", "Loopback stream, GiB/s", "its CPU, s/GiB"] { th class="number" { (head) } }
                } }
                tbody { @for run in runs.iter().rev() { tr {
                    th { (run.name) }
                    @match run.settings.first() {
                        Some((_, setting)) => {
                            td class="number" { (setting.cpus) } td { (setting.kernel) } td class="number" { (setting.meta) }
                            td class="number" { (setting.storage) } td class="number" { (setting.native_threads) }
                        }
                        None => { td colspan="5" class="quiet" { "not said" } }
                    }
                    @let tcp = run.loopback;
                    td class="number" { (figure(tcp.map(|tcp| tcp.round_trip_us.p50))) }
                    td class="number" { (figure(tcp.map(|tcp| tcp.round_trip_cpu_us))) }
                    td class="number" { (figure(tcp.map(|tcp| tcp.stream_gib_per_s))) }
                    td class="number" { (figure(tcp.map(|tcp| tcp.stream_cpu_s_per_gib))) }
                } } }
            } }
        }
    }
}

/// Lists that have no form of their own here, of each run.
fn others(runs: &[Stored]) -> Markup {
    let table = |grid: &Grid| {
        html! {
            div class="scroll" { table {
                thead { tr { @for head in &grid.heads { th { (head) } } } }
                tbody { @for row in &grid.rows { tr { @for value in row { td { (value) } } } } }
            } }
        }
    };
    html! {
        @for run in runs.iter().rev().filter(|run| !run.tables.is_empty()) {
            section {
                h2 { "More of " (run.name) }
                @for (title, grid) in &run.tables { details { summary { (title) } (table(grid)) } }
            }
        }
    }
}

fn not_read(left_out: &[(String, String)]) -> Markup {
    html! {
        @if !left_out.is_empty() {
            section { h2 { "Left out" } ul { @for (file, why) in left_out { li { code { (file) } ": " (why) } } } }
        }
    }
}
