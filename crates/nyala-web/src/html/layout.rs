// SPDX-License-Identifier: Apache-2.0

//! Where the data of a file is, and what a directory gives to new files.

use super::{consistency, member, reachability};
use crate::facts::Facts;
use crate::units;
use maud::{Markup, html};
use nyala_wire::map::TargetKind;
use nyala_wire::meta::EntryInfo;
use nyala_wire::{GroupId, Layout, Pattern, StripePattern, TargetId};

pub(crate) fn data(facts: &Facts<'_>, info: &EntryInfo) -> Markup {
    html! {
        @if info.inline { p class="card calm" { "Its content is kept with its inode, on the metadata target." } }
        @else if let Some(layout) = &info.layout { (striped(facts, layout)) }
        @else if let Some(pattern) = &info.pattern { (given(facts, pattern)) }
    }
}

/// What a directory gives to new files.
fn given(facts: &Facts<'_>, pattern: &StripePattern) -> Markup {
    let pool = facts.map.pools.iter().find(|pool| pool.id == pattern.pool).map_or("", |pool| &pool.alias);
    html! {
        dl class="card facts" {
            (fact("New files get", &format!("stripes over {} {}", pattern.num_targets, unit(pattern.of_new_files().pattern))))
            (fact("Chunk size", &units::bytes(f64::from(pattern.chunk_bytes))))
            (fact("Kept with the inode", &format!("up to {}", units::bytes(f64::from(pattern.inline_bytes)))))
            (fact("Storage pool", &format!("{} {pool}", pattern.pool)))
        }
    }
}

fn word(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Raid0 => "striped",
        Pattern::Mirror => "striped over mirror groups",
        Pattern::Ec => "erasure coded",
    }
}

fn unit(pattern: Pattern) -> &'static str {
    match pattern {
        Pattern::Raid0 | Pattern::Ec => "targets",
        Pattern::Mirror => "mirror groups",
    }
}

fn striped(facts: &Facts<'_>, layout: &Layout) -> Markup {
    let mirrored = layout.pattern == Pattern::Mirror;
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Where its data is" {
            table {
                caption {
                    (word(layout.pattern)) ": chunks of " (units::bytes(f64::from(layout.chunk_bytes))) ", one after the other on "
                    (layout.targets.len()) " " (unit(layout.pattern))
                }
                thead { tr {
                    th scope="col" class="number" { "Stripe" }
                    @if mirrored { th scope="col" { "Mirror group" } th scope="col" { "Role" } }
                    th scope="col" { "Target" } th scope="col" { "Node" } th scope="col" { "State" } th scope="col" { "Content" }
                } }
                @for (at, id) in layout.targets.iter().enumerate() {
                    tbody class="group" {
                        @if mirrored { (members(facts, at, GroupId(id.0))) }
                        @else { tr { th scope="row" class="number" { (at) } (target(facts, *id)) (own_state(facts, *id)) } }
                    }
                }
            }
        }
    }
}

fn members(facts: &Facts<'_>, at: usize, id: GroupId) -> Markup {
    let group = facts.map.group(id).filter(|group| !group.members.is_empty());
    html! {
        @if let Some(group) = group {
            @for (row, (target_id, state)) in group.members_with_states().enumerate() {
                tr {
                    @if row == 0 {
                        th scope="rowgroup" class="number" rowspan=(group.members.len()) { (at) }
                        td rowspan=(group.members.len()) { (id) }
                    }
                    td { @if group.primary() == Some(target_id) { strong { "primary" } } @else { "mirror" } }
                    (target(facts, target_id)) td { (member(state)) }
                }
            }
        } @else {
            tr { th scope="row" class="number" { (at) } td { (id) } td colspan="5" { "not in the cluster map" } }
        }
    }
}

/// Target, node and whether it answers.
fn target(facts: &Facts<'_>, id: TargetId) -> Markup {
    let found = facts.map.target(id).filter(|target| target.kind == TargetKind::Storage);
    html! {
        td { (id) " " span class="quiet" { (found.map_or("not in the cluster map", |target| &target.alias)) } }
        td { (found.and_then(|target| facts.map.node(target.node)).map_or("–", |node| &node.alias)) }
        td { @if let Some(target) = found { (reachability(target.reachability)) } @else { "–" } }
    }
}

fn own_state(facts: &Facts<'_>, id: TargetId) -> Markup {
    html! { td { @if let Some(target) = facts.map.target(id) { (consistency(target.consistency)) } @else { "–" } } }
}

/// A name and what it is, in a list of such.
pub(super) fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}
