// SPDX-License-Identifier: Apache-2.0

//! Throughput, operations and latency over time.

use crate::facts::Facts;
use crate::history::{Line, Span};
use crate::page::Page;
use crate::svg::chart::Chart;
use crate::units;
use maud::{Markup, html};

pub(crate) fn charts(facts: &Facts<'_>) -> Markup {
    let points = |line| facts.history.points(line, facts.span, facts.now_ms);
    let chart = |title, lines: [(&'static str, Line); 2], unit, binary, at_least| Chart {
        title,
        lines: lines.map(|(name, line)| (name, points(line))).to_vec(),
        unit,
        binary,
        at_least,
        span: facts.span,
        now_ms: facts.now_ms,
    };
    let all = [
        chart("Throughput", [("Read", Line::Read), ("Written", Line::Written)], units::byte_rate, true, 1024.0),
        chart(
            "Requests",
            [("Metadata", Line::MetaRequests), ("Storage", Line::StorageRequests)],
            units::rate,
            false,
            10.0,
        ),
        chart(
            "Latency, 99th percentile",
            [("Metadata", Line::MetaLatency), ("Storage", Line::StorageLatency)],
            units::seconds,
            false,
            0.001,
        ),
    ];
    html! {
        section aria-labelledby="charts-title" {
            div class="head" {
                h2 id="charts-title" { "Over time" }
                div class="choice" role="group" aria-label="Time shown" { (choice(facts, Span::Hour, "Hour")) (choice(facts, Span::Day, "Day")) }
            }
            div class="charts" { @for chart in &all { div class="card" { (chart.draw()) } } }
            p class="quiet" {
                "Sampled by this management node since it was started. " code { "nyala mon" } " keeps a day of every service and target, also over restarts."
            }
        }
    }
}

fn choice(facts: &Facts<'_>, span: Span, name: &str) -> Markup {
    let address = Page::Overview.address(span);
    html! {
        @if span == facts.span { a href=(address) aria-current="true" { (name) } } @else { a href=(address) { (name) } }
    }
}
