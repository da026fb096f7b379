// SPDX-License-Identifier: Apache-2.0

//! The overview: findings and the most important figures.

use super::{badge, more, no_figures, said, severity};
use crate::facts::Facts;
use crate::history::Line;
use crate::model::overview::Card;
use crate::model::{Cut, MOST_ROWS, overview};
use crate::page::Page;
use crate::svg::bar::bar;
use crate::units;
use maud::{Markup, html};
use nyala_cluster::health::{About, Finding, Severity};
use nyala_wire::map::TargetKind;

/// Most findings of one cause that are listed.
const MOST_FOLDED: usize = 12;

/// What is wrong, and what to do.
pub(crate) fn findings(facts: &Facts<'_>) -> Markup {
    let cut = Cut::of(overview::state(facts).cards, MOST_ROWS);
    html! {
        section aria-labelledby="findings-title" {
            h2 id="findings-title" { "Health" }
            @if cut.rows.is_empty() {
                p class="card calm" { (badge("good", "Nothing to do")) " All nodes answer, all targets are online and good, all mirror groups are whole." }
            } @else {
                ul class="findings" { @for card in &cut.rows { (one(card)) } }
                (more(cut.more, "findings"))
            }
        }
    }
}

fn one(card: &Card) -> Markup {
    let class = severity(Some(card.severity));
    let word = match card.severity {
        Severity::Down => "Down",
        Severity::Degraded => "Degraded",
        Severity::Notice if card.findings.iter().all(|finding| finding.about == About::Cluster) => "To do",
        Severity::Notice => "Mending",
    };
    let Some((first, others)) = card.findings.split_first() else { return html! {} };
    html! {
        li class={ "card finding " (class) } {
            p { (badge(class, word)) " " strong { (said(&first.what)) } }
            p class="advice" { (said(&first.advice)) (link(first)) }
            @if !others.is_empty() {
                ul {
                    @for finding in others.iter().take(MOST_FOLDED) { li { (said(&finding.what)) } }
                    @if others.len() > MOST_FOLDED { li { "and " (others.len() - MOST_FOLDED) " more" } }
                }
            }
        }
    }
}

fn link(finding: &Finding) -> Markup {
    let page = match finding.about {
        About::Group(_) => Page::Mirrors,
        About::Target(_) => Page::Targets,
        About::Node(_) => Page::Services,
        About::Cluster => return html! {},
    };
    html! { " " a href=(page.path()) { (page.title()) } }
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
                @if groups > 0 { (tile("Whole groups", &format!("{whole} of {groups}"))) }
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
