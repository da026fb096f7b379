// SPDX-License-Identifier: Apache-2.0

//! Targets and capacity.

use super::overview::fill;
use super::{consistency, more, pool, reachability};
use crate::facts::Facts;
use crate::model::targets::{TargetRow, rows};
use crate::svg::bar::bar;
use crate::units;
use maud::{Markup, html};
use nyala_cluster::word::Word;

pub(crate) fn targets(facts: &Facts<'_>) -> Markup {
    let cut = rows(facts);
    html! {
        section {
            @if cut.rows.is_empty() { p class="card calm" { "There are no targets yet: `nyala setup` on a host makes some." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Targets" {
                    table {
                        caption { "Targets, those that need a look first" }
                        thead { tr {
                            th scope="col" { "Target" } th scope="col" { "Kind" } th scope="col" { "Node" } th scope="col" { "Mirror" }
                            th scope="col" { "State" } th scope="col" { "Content" } th scope="col" { "Used" }
                            th scope="col" class="number" { "Read" } th scope="col" class="number" { "Written" }
                            th scope="col" class="number" { "Operations" } th scope="col" class="number" { "Disk p99" }
                        } }
                        tbody { @for row in &cut.rows { (one(row)) } }
                    }
                }
                (more(cut.more, "targets"))
            }
        }
    }
}

fn one(row: &TargetRow<'_>) -> Markup {
    let target = row.target;
    let storage = target.kind == nyala_wire::map::TargetKind::Storage;
    html! {
        tr {
            th scope="row" { (target.id) " " span class="quiet" { (target.alias) } }
            td { (target.kind.word()) }
            td { (row.node.map_or("–", |node| &node.alias)) }
            td { @if let Some(group) = row.group { @if group.primary() == Some(target.id) { "primary of " } @else { "in " } (group.id) } @else { "–" } }
            td { (reachability(target.reachability)) }
            td { (consistency(target.consistency)) }
            td class="used" {
                (pool(target.capacity_pool))
                @if let Some(figures) = row.figures.filter(|figures| figures.size > 0.0) {
                    @let part = (figures.size - figures.free) / figures.size;
                    @let said = format!("{} of {}", units::percent(part), units::bytes(figures.size));
                    (bar(part, fill(part), &said)) span { (said) }
                } @else { "–" }
            }
            @if let Some(figures) = row.figures.filter(|_| storage) {
                td class="number" { (units::byte_rate(figures.read)) }
                td class="number" { (units::byte_rate(figures.written)) }
                td class="number" { (units::rate(figures.operations)) }
                td class="number" { (figures.p99_s.map_or_else(|| "–".to_owned(), units::seconds)) }
            } @else { td class="number" { "–" } td class="number" { "–" } td class="number" { "–" } td class="number" { "–" } }
        }
    }
}
