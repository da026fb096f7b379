// SPDX-License-Identifier: Apache-2.0

//! What changed, when and why.

use super::{badge, more};
use crate::facts::Facts;
use crate::model::{Cut, MOST_ROWS};
use crate::units;
use maud::{Markup, html};
use nyala_cluster::{Change, Mood};

/// The last few.
pub(crate) fn latest(facts: &Facts<'_>) -> Markup {
    html! {
        section aria-labelledby="latest-title" {
            div class="head" { h2 id="latest-title" { "Latest events" } a href="/events" { "All events" } }
            (table(&facts.changes[..facts.changes.len().min(6)]))
        }
    }
}

/// All that are remembered.
pub(crate) fn events(facts: &Facts<'_>) -> Markup {
    let cut = Cut::of(facts.changes.iter().collect(), 2 * MOST_ROWS);
    html! {
        section {
            (table(&facts.changes[..cut.rows.len()]))
            (more(cut.more, "events that are remembered"))
        }
    }
}

fn table(changes: &[Change]) -> Markup {
    html! {
        @if changes.is_empty() { p class="card calm" { "Nothing has changed since this management node was started." } }
        @else {
            div class="scroll" tabindex="0" role="region" aria-label="Events" {
                table class="events" {
                    caption class="unseen" { "Changes of the cluster state, newest first" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "What" } th scope="col" { "Why" } } }
                    tbody { @for change in changes { (one(change)) } }
                }
            }
        }
    }
}

fn one(change: &Change) -> Markup {
    let (class, said) = match change.mood {
        Mood::Better => ("good", "better"),
        Mood::Neutral => ("plain", "neither"),
        Mood::Worse => ("critical", "worse"),
    };
    html! {
        tr {
            td class="when" {
                @if let Some(at) = change.at_ms { time { (units::moment(at)) } } @else { span class="quiet" { "before this node's start" } }
            }
            td { (badge(class, "")) span class="unseen" { (said) ": " } (change.what) }
            td { (change.why) }
        }
    }
}
