// SPDX-License-Identifier: Apache-2.0

//! What is around every page.

use super::{badge, severity};
use crate::facts::{Facts, Leadership};
use crate::model::overview;
use crate::page::{Page, Part};
use crate::units;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Who looks.
#[derive(Clone, Debug, Default)]
pub struct Visitor {
    /// Goes into every form.
    pub csrf: String,
    /// Whether the visitor may change something.
    pub may_act: bool,
    /// What came of the last action: whether it was done, and a sentence.
    pub flash: Option<(bool, String)>,
}

/// A whole page.
pub fn document(page: Page, facts: &Facts<'_>, parts: &[Part], visitor: &Visitor) -> String {
    let live = format!(
        "/live?page={}&span={}",
        page.path(),
        if page.address(facts.span).contains("day") { "day" } else { "hour" }
    );
    let (state, own) = parts.split_first().map_or((None, &[][..]), |(state, own)| (Some(state), own));
    let body = html! {
        a class="skip" href="#main" { "Skip to the content" }
        header {
            div class="bar" {
                a class="brand" href="/" { span class="logo" aria-hidden="true" {} "Nyala" }
                (navigation(page))
                div class="who" {
                    span id="live" class="live" {}
                    span class="role" { @if visitor.may_act { "Administrator" } @else { "Viewer" } }
                    form method="post" action="/logout" {
                        input type="hidden" name="csrf" value=(visitor.csrf);
                        button class="small" type="submit" { "Log out" }
                    }
                }
            }
        }
        @if let Some(part) = state { (section(part)) }
        main id="main" data-live=(live) {
            @if let Some((done, text)) = &visitor.flash {
                p class={ "flash " @if *done { "good" } @else { "critical" } } role="status" { (text) }
            }
            h1 { (page.title()) }
            @for part in own { (section(part)) }
        }
        footer {
            p { "Management node " strong { (facts.here.alias) } " of cluster " code { (facts.map.cluster) } ". Times are UTC." }
        }
    };
    frame(page.title(), &body)
}

fn navigation(page: Page) -> Markup {
    html! {
        nav aria-label="Pages" {
            ul {
                @for known in Page::ALL {
                    li {
                        @if known == page { a href=(known.path()) aria-current="page" { (known.title()) } }
                        @else { a href=(known.path()) { (known.title()) } }
                    }
                }
            }
        }
    }
}

fn section(part: &Part) -> Markup {
    html! { div id=(part.id) data-part { (PreEscaped(&part.html)) } }
}

/// The line below the header: how everything is, and how much this node knows.
pub(crate) fn state(facts: &Facts<'_>) -> Markup {
    let state = overview::state(facts);
    let class = severity(state.severity);
    let knows = match facts.here.leadership {
        Leadership::Leads => "this node leads".to_owned(),
        Leadership::Follows(leader) => {
            format!("this node follows node {leader}, which may know more; actions are done there")
        }
        Leadership::Lost => "this node knows of no majority".to_owned(),
    };
    html! {
        div class={ "state " (class) } {
            p role="status" { (badge(class, &state.headline)) }
            p class="quiet" {
                (count(facts.map.nodes.len(), "node")) ", " (count(facts.map.targets.len(), "target")) ", "
                (count(facts.map.groups.len(), "mirror group")) " · map " (facts.map.version) " · " (knows)
                @if let Some(figures) = facts.figures { " · figures of " time datetime=(units::exact_moment(figures.at_ms)) { (units::moment(figures.at_ms)) } }
            }
        }
    }
}

fn count(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The frame of every document.
pub(super) fn frame(title: &str, body: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Nyala" }
                link rel="icon" type="image/svg+xml" href="/assets/icon.svg";
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/live.js" defer {}
            }
            body { (body) }
        }
    };
    document.into_string()
}
