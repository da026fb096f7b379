// SPDX-License-Identifier: Apache-2.0

//! Templates. They escape all text; what they mark as escaped is their own.

pub mod busy;
pub mod charts;
pub mod checks;
pub mod clients;
pub mod events;
pub mod files;
pub mod layout;
pub mod mirrors;
pub mod outside;
pub mod overview;
pub mod services;
pub mod shell;
pub mod slots;
pub mod targets;
pub mod topology;

use crate::action::Action;
use maud::{Markup, html};
use nyala_cluster::health::Severity;
use nyala_wire::map::{CapacityPool, Consistency, MemberState, Reachability};

/// A state with a mark, in words; its colour says it once more.
pub(crate) fn badge(class: &str, text: &str) -> Markup {
    html! { span class={ "badge " (class) } { span class="mark" aria-hidden="true" { (sign(class)) } (text) } }
}

fn sign(class: &str) -> &'static str {
    match class {
        "good" => "\u{25cf}",
        "notice" => "\u{25d0}",
        "warning" => "▲",
        "critical" => "\u{2715}",
        _ => "\u{25cb}",
    }
}

/// The class of a state of health.
pub(crate) fn severity(severity: Option<Severity>) -> &'static str {
    match severity {
        None => "good",
        Some(Severity::Notice) => "notice",
        Some(Severity::Degraded) => "warning",
        Some(Severity::Down) => "critical",
    }
}

pub(crate) fn reachability(state: Reachability) -> Markup {
    match state {
        Reachability::Online => badge("good", "online"),
        Reachability::ProbablyOffline => badge("warning", "probably offline"),
        Reachability::Offline => badge("critical", "offline"),
    }
}

pub(crate) fn consistency(state: Consistency) -> Markup {
    match state {
        Consistency::Good => badge("good", "good"),
        Consistency::NeedsResync => badge("warning", "needs resync"),
        Consistency::Bad => badge("critical", "bad"),
    }
}

pub(crate) fn member(state: MemberState) -> Markup {
    match state {
        MemberState::Good => badge("good", "good"),
        MemberState::Resyncing => badge("notice", "resyncing"),
        MemberState::NeedsResync => badge("warning", "needs resync"),
        MemberState::Bad => badge("critical", "bad"),
    }
}

/// Nothing where there is room enough.
pub(crate) fn pool(state: CapacityPool) -> Markup {
    match state {
        CapacityPool::Normal => html! {},
        CapacityPool::Low => badge("warning", "low"),
        CapacityPool::Emergency => badge("critical", "emergency"),
    }
}

/// A sentence; what is between backquotes is something to type.
pub(crate) fn said(sentence: &str) -> Markup {
    html! {
        @for (at, piece) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

/// How many rows a table leaves out.
pub(crate) fn more(count: usize, what: &str) -> Markup {
    html! { @if count > 0 { p class="more" { "and " (count) " more " (what) } } }
}

/// Links to what may be done.
pub(crate) fn actions(may_act: bool, all: &[(&'static str, Action)], about: &str) -> Markup {
    html! {
        @if may_act && !all.is_empty() {
            span class="actions" {
                @for (label, action) in all {
                    a class="button small" href=(action.address()) aria-label={ (label) " " (about) } { (label) }
                }
            }
        }
    }
}

/// Says that there are no figures yet.
pub(crate) fn no_figures() -> Markup {
    html! { p class="quiet" { "No figures yet: they come a few seconds after this management node starts." } }
}
