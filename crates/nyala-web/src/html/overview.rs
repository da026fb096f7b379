// SPDX-License-Identifier: Apache-2.0

//! The overview: findings and the most important figures.

use super::{badge, more, no_figures, severity};
use crate::facts::Facts;
use crate::history::Line;
use crate::model::{Cut, MOST_ROWS, overview};
use crate::svg::bar::bar;
use crate::units;
use maud::{Markup, html};
use nyala_cluster::health::{About, Finding, Severity};
use nyala_wire::map::TargetKind;

/// What is wrong, and what to do.
pub(crate) fn findings(facts: &Facts<'_>) -> Markup {
    let cut = Cut::of(overview::state(facts).findings, MOST_ROWS);
    html! {
        section aria-labelledby="findings-title" {
            h2 id="findings-title" { "Health" }
            @if cut.rows.is_empty() {
                p class="card calm" { (badge("good", "Nothing to do")) " All nodes answer, all targets are online and good, all mirror groups are whole." }
            } @else {
                ul class="findings" { @for finding in &cut.rows { (one(finding)) } }
                (more(cut.more, "findings"))
            }
        }
    }
}

fn one(finding: &Finding) -> Markup {
    let class = severity(Some(finding.severity));
    let word = match finding.severity {
        Severity::Down => "Down",
        Severity::Degraded => "Degraded",
        Severity::Notice => "Mending",
    };
    let page = match finding.about {
        About::Group(_) => Some(("/mirrors", "Mirrors")),
        About::Target(_) => Some(("/targets", "Targets")),
        About::Node(_) => Some(("/services", "Services")),
        About::Cluster => None,
    };
    html! {
        li class={ "card finding " (class) } {
            p { (badge(class, word)) " " strong { (finding.what) } }
            p class="advice" {
                (finding.advice)
                @if let Some((path, name)) = page { " " a href=(path) { (name) } }
            }
        }
    }
}

/// The most important figures.
pub(crate) fn tiles(facts: &Facts<'_>) -> Markup {
    let (whole, groups) = overview::whole_groups(facts);
    html! {
        section aria-labelledby="tiles-title" {
            h2 id="tiles-title" { "Now" }
            @if facts.figures.is_none() { (no_figures()) }
            dl class="tiles" {
                @if let Some(figures) = facts.figures {
                    @let of = |line| figures.totals.get(line);
                    (tile("Read", &units::byte_rate(of(Line::Read))))
                    (tile("Written", &units::byte_rate(of(Line::Written))))
                    (tile("Metadata requests", &units::rate(of(Line::MetaRequests))))
                    (tile("Storage requests", &units::rate(of(Line::StorageRequests))))
                }
                (space(facts, TargetKind::Storage, "Storage used"))
                (space(facts, TargetKind::Meta, "Metadata used"))
                @if groups > 0 { (tile("Whole mirror groups", &format!("{whole} of {groups}"))) }
            }
        }
    }
}

fn tile(name: &str, value: &str) -> Markup {
    html! { div class="card tile" { dt { (name) } dd { (value) } } }
}

fn space(facts: &Facts<'_>, kind: TargetKind, name: &str) -> Markup {
    let used = overview::used(facts, kind);
    html! {
        @if used.size > 0.0 {
            div class="card tile" {
                dt { (name) }
                dd {
                    (units::percent(used.part())) " " small { (units::bytes(used.used)) " of " (units::bytes(used.size)) }
                    (bar(used.part(), fill(used.part()), &format!("{} used", units::percent(used.part()))))
                }
            }
        }
    }
}

/// The colour of a bar of used space.
pub(crate) fn fill(part: f64) -> &'static str {
    match part {
        p if p >= 0.95 => "critical",
        p if p >= 0.85 => "warning",
        _ => "plain",
    }
}
