// SPDX-License-Identifier: Apache-2.0

//! The parts of the page that compare runs.

use super::boxes::{self, Kind};
use super::quartiles;
use super::series::{Change, Group, Series, misses};
use super::stored::Stored;
use crate::report::table::figure;
use maud::{Markup, html};

/// Figures next to what they should be.
pub fn aims(runs: &[Stored]) -> Markup {
    let Some(newest) = runs.last().filter(|run| !run.aims.is_empty()) else { return html! {} };
    let misses = misses(runs);
    let reached = newest.aims.iter().filter(|aim| aim.ok).count();
    html! {
        section {
            h2 { "Aims: " (reached) " of " (newest.aims.len()) " reached" }
            (boxes::draw("How many times worse than its aim", "left of the line is reached", &misses, Some((1.0, "the aim")), Kind::History))
            div class="scroll" { table {
                thead { tr { th { "Aim" } th class="number" { "Newest" } th class="number" { "Wanted" } th { "Result" } th class="number" { "Change" } } }
                tbody { @for aim in &newest.aims {
                    tr {
                        th { (aim.what) }
                        td class="number" { (aim.measured()) }
                        td class="number" { (aim.wanted()) }
                        td { @if aim.ok { "reached" } @else { span class="worse" { "missed" } @if let Some(why) = &aim.why { " (" (why) ")" } } }
                        td class="number" { (change(misses.iter().find(|one| one.what == aim.what).and_then(|one| one.change(true)))) }
                    }
                } }
            } }
        }
    }
}

/// A change in words and colour. Of aims it is that of the distance.
fn change(change: Option<Change>) -> Markup {
    let Some(Change { ratio, worse, .. }) = change else { return html! { "–" } };
    let text = format!("{:+.0} %", 100.0 * (ratio - 1.0));
    match worse {
        Some(true) => html! { span class="worse" { (text) " worse" } },
        Some(false) => html! { span class="better" { (text) " better" } },
        None => html! { (text) },
    }
}

/// Figures of one kind: drawn, and as a table.
pub fn section(group: &Group) -> Markup {
    let row = |series: &Series| {
        let (newest, spread, changed) =
            (series.newest(), quartiles::quartiles(&series.known()), series.change(group.less));
        html! {
            tr {
                th { (series.what) }
                td class="number" { (figure(newest)) }
                td class="number" { (figure(changed.map(|change| change.before))) }
                td class="number" { (change(changed)) }
                td class="number" { @if let Some(spread) = spread { (figure(Some(spread.least))) " – " (figure(Some(spread.most))) } }
                td class="number" { (series.known().len()) }
            }
        }
    };
    html! {
        section {
            h2 { (group.title) ", " (group.unit) }
            (boxes::draw(group.title, group.unit, &group.series, None, Kind::History))
            details open {
                summary { "Figures" }
                div class="scroll" { table {
                    thead { tr {
                        th { "Phase" }
                        @for head in ["Newest", "Median before", "Change", "All runs", "Runs"] { th class="number" { (head) } }
                    } }
                    tbody { @for series in &group.series { (row(series)) } }
                } }
            }
        }
    }
}
