// SPDX-License-Identifier: Apache-2.0

//! The topology as a drawing.

use crate::model::topology::{CHIP, Chip, Drawing, Edge, NodeBox, WIDTH};
use maud::{Markup, html};
use nyala_cluster::word::Word;
use nyala_wire::map::{MemberState, Reachability};

/// Draws it.
pub fn draw(drawing: &Drawing) -> Markup {
    html! {
        svg class="topology" viewBox={ "0 0 " (WIDTH) " " (drawing.height) } role="img" aria-labelledby="topology-title" {
            title id="topology-title" { "Nodes with their targets, and lines from each primary to the members that mirror it. The pages on mirrors, targets and services say the same in tables." }
            defs {
                marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" {
                    path class="arrow" d="M0 0.5L7.5 4L0 7.5Z" {}
                }
            }
            @for (y, title) in &drawing.titles { text class="section" x="12" y=(y) { (title) } }
            @for edge in &drawing.edges { (draw_edge(edge)) }
            @for node in &drawing.nodes { (draw_node(node)) }
        }
    }
}

fn draw_edge(edge: &Edge) -> Markup {
    let [(x0, y0), (x1, y1), (x2, y2), (x3, y3)] = edge.points;
    let class = match edge.state {
        MemberState::Good if edge.well => "edge",
        MemberState::Resyncing => "edge resyncing",
        _ => "edge broken",
    };
    html! {
        path class=(class) d={ "M" (x0) " " (y0) "C" (x1) " " (y1) " " (x2) " " (y2) " " (x3) " " (y3) } marker-end="url(#arrow)" {
            title { (edge.said) " (" (edge.state.word()) ")" }
        }
    }
}

fn draw_node(node: &NodeBox) -> Markup {
    let (x, y, width, height) = node.at;
    let class = match node.reachability {
        Reachability::Online => "good",
        Reachability::ProbablyOffline => "warning",
        Reachability::Offline => "critical",
    };
    html! {
        g class={ "node " (class) } {
            rect class="box" x=(x) y=(y) width=(width) height=(height) rx="8" {}
            (mark(x + 17.0, y + 17.0, class))
            text class="name" x=(x + 30.0) y=(y + 22.0) { (cut(&node.alias, 18)) title { (node.alias) " is " (node.reachability.word()) } }
            @if node.reachability != Reachability::Online {
                text class="note end" x=(x + width - 10.0) y=(y + 22.0) { (short(node.reachability)) }
            }
            @for chip in &node.chips { (draw_chip(chip)) }
            @if node.more > 0 {
                text class="note" x=(x + 12.0) y=(y + height - 12.0) { "and " (node.more) " more targets" }
            }
        }
    }
}

fn draw_chip(chip: &Chip) -> Markup {
    let (x, y, width) = chip.at;
    let (class, note) = match chip.member {
        Some((_, _, MemberState::Resyncing)) => ("notice", "resyncing".to_owned()),
        Some((_, _, MemberState::NeedsResync)) => ("warning", "needs resync".to_owned()),
        Some((_, _, MemberState::Bad)) => ("critical", "bad".to_owned()),
        Some((group, primary, MemberState::Good)) => {
            (chip.class, format!("{} {group}", if primary { "primary of" } else { "mirror in" }))
        }
        None => (chip.class, String::new()),
    };
    html! {
        g class={ "chip " (class) } {
            rect class="line" x=(x + 6.0) y=(y + 1.0) width=(width - 12.0) height=(CHIP - 3.0) rx="4" {}
            (mark(x + 17.0, y + 11.0, class))
            text x=(x + 30.0) y=(y + 15.5) { (chip.id) " " (cut(&chip.alias, 9)) title { "target " (chip.id) " (" (chip.alias) ")" } }
            text class="note end" x=(x + width - 12.0) y=(y + 15.5) { (note) }
        }
    }
}

/// A mark that says the state by its form too.
fn mark(x: f64, y: f64, class: &str) -> Markup {
    let d = match class {
        "good" => format!("M{} {}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0Z", x - 4.0, y),
        "critical" => format!("M{} {}l8 8m0 -8l-8 8", x - 4.0, y - 4.0),
        _ => format!("M{} {}l5 9h-10Z", x, y - 5.0),
    };
    html! { path class={ "mark " (class) } d=(d) {} }
}

fn short(reachability: Reachability) -> &'static str {
    match reachability {
        Reachability::Online => "",
        Reachability::ProbablyOffline => "late",
        Reachability::Offline => "offline",
    }
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
