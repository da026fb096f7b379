// SPDX-License-Identifier: Apache-2.0

//! The topology: drawn, with a key.

use crate::facts::Facts;
use crate::model::topology::drawing;
use crate::svg;
use maud::{Markup, html};

pub(crate) fn topology(facts: &Facts<'_>) -> Markup {
    let drawing = drawing(facts);
    html! {
        section {
            @if drawing.nodes.is_empty() { p class="card calm" { "There are no nodes yet." } }
            @else {
                ul class="legend" aria-label="Key" {
                    li { span class="key edge" {} "from a primary to a member that mirrors it" }
                    li { span class="key edge resyncing" {} "is being resynced" }
                    li { span class="key edge broken" {} "is not up to date, or away" }
                }
                div class="scroll card" tabindex="0" role="region" aria-label="Drawing of the topology" { (svg::topology::draw(&drawing)) }
                p class="quiet" { "The same in tables: " a href="/mirrors" { "Mirrors" } ", " a href="/targets" { "Targets" } ", " a href="/services" { "Services" } "." }
            }
        }
    }
}
