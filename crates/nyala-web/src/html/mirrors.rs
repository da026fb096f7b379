// SPDX-License-Identifier: Apache-2.0

//! Mirror groups and resync.

use super::{actions, badge, member, more, reachability, said};
use crate::facts::Facts;
use crate::figures::Resync;
use crate::model::mirrors::{GroupCard, MemberRow, cards, progress};
use crate::svg::bar::bar;
use crate::units;
use maud::{Markup, html};
use nyala_cluster::word::Word;

pub(crate) fn mirrors(facts: &Facts<'_>) -> Markup {
    let cut = cards(facts);
    html! {
        section aria-labelledby="mirrors-title" {
            h2 id="mirrors-title" { "Mirror groups" }
            @if cut.rows.is_empty() {
                p class="card calm" { "Nothing is mirrored. " code { "nyala mirror create" } " makes mirror groups of the targets that there are." }
            } @else {
                div class="scroll" tabindex="0" role="region" aria-label="Mirror groups" {
                    table {
                        caption { "Members of each group, the primary first; groups that are not whole come first" }
                        thead { tr {
                            th scope="col" { "Group" } th scope="col" { "Target" } th scope="col" { "Node" } th scope="col" { "Role" }
                            th scope="col" { "State" } th scope="col" { "Content" } th scope="col" { "Resync" }
                            @if facts.may_act { th scope="col" { "Actions" } }
                        } }
                        @for card in &cut.rows { (group(facts, card)) }
                    }
                }
                (more(cut.more, "groups"))
            }
        }
    }
}

fn group(facts: &Facts<'_>, card: &GroupCard<'_>) -> Markup {
    let id = card.group.id;
    html! {
        tbody class="group" {
            @for (at, row) in card.members.iter().enumerate() {
                tr {
                    @if at == 0 {
                        th scope="rowgroup" rowspan=(card.members.len()) {
                            (id) " " span class="quiet" { (card.group.kind.word()) }
                            @if card.group.resync_stopped { br; (badge("warning", "resync stopped")) }
                            (actions(facts.may_act, &card.actions, &format!("mirror group {id}")))
                        }
                    }
                    (one(facts, row))
                }
            }
            @if let Some(diagnosis) = &card.diagnosis {
                tr class="said" { td colspan={ @if facts.may_act { "8" } @else { "7" } } { (said(diagnosis)) } }
            }
        }
    }
}

fn one(facts: &Facts<'_>, row: &MemberRow<'_>) -> Markup {
    html! {
        td { (row.id) " " span class="quiet" { (row.target.map_or("", |target| &target.alias)) } }
        td { (row.node.map_or("–", |node| &node.alias)) }
        td { @if row.primary { strong { "primary" } } @else { "mirror" } }
        td { @if let Some(target) = row.target { (reachability(target.reachability)) } @else { "–" } }
        td { (member(row.state)) }
        td class="used" { @if let Some(resync) = &row.resync { (copied(resync)) } @else { "–" } }
        @if facts.may_act { td { (actions(true, &row.actions, &format!("target {}", row.id))) } }
    }
}

fn copied(resync: &Resync) -> Markup {
    let part = progress(resync);
    let text = format!(
        "{}: {} copied, {} left, {}",
        units::percent(part),
        units::bytes(resync.copied),
        units::bytes(resync.remaining),
        units::byte_rate(resync.rate)
    );
    html! {
        (bar(part, "notice", &text)) span { (text) }
        @if resync.rate > 0.0 && resync.remaining > 0.0 { span { "about " (units::duration(resync.remaining / resync.rate)) " to go" } }
    }
}
