// SPDX-License-Identifier: Apache-2.0

//! Busiest files and directories.

use super::no_figures;
use crate::facts::Facts;
use crate::figures::{Figures, FileFigures};
use crate::units;
use maud::{Markup, html};

/// Most rows of each.
const MOST: usize = 20;

pub(crate) fn files(facts: &Facts<'_>) -> Markup {
    let caption = "Files of the last half to whole minute, with the most requests to services first. \
                   Estimates from samples; bytes are those at storage";
    table(facts, ("files", "File"), caption, true, |figures| &figures.files)
}

pub(crate) fn directories(facts: &Facts<'_>) -> Markup {
    let caption = "Directories of the last half to whole minute: names looked up, listed, made, removed and renamed in them. \
                   Estimates from samples";
    table(facts, ("directories", "Directory"), caption, false, |figures| &figures.directories)
}

fn table(
    facts: &Facts<'_>,
    (what, head): (&str, &str),
    caption: &str,
    has_bytes: bool,
    rows: impl Fn(&Figures) -> &Vec<FileFigures>,
) -> Markup {
    let all = facts.figures.map_or(&[][..], |figures| rows(figures));
    html! {
        section aria-labelledby={ "busy-" (what) "-title" } {
            h2 id={ "busy-" (what) "-title" } { "Busiest " (what) }
            @if facts.figures.is_none() { (no_figures()) }
            @else if all.is_empty() { p class="card calm" { "None is busy." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label={ "Busiest " (what) } {
                    table {
                        caption { (caption) }
                        thead { tr {
                            th scope="col" { (head) } th scope="col" class="number" { "Requests" } th scope="col" class="number" { "Changes" }
                            @if has_bytes { th scope="col" class="number" { "Read" } th scope="col" class="number" { "Written" } }
                        } }
                        tbody { @for row in all.iter().take(MOST) { tr {
                            th scope="row" { (row.path) } td class="number" { (units::rate(row.requests)) }
                            td class="number" { (units::rate(row.changes)) }
                            @if has_bytes {
                                td class="number" { (units::byte_rate(row.read)) } td class="number" { (units::byte_rate(row.written)) }
                            }
                        } } }
                    }
                }
            }
        }
    }
}
