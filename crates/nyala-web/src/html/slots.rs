// SPDX-License-Identifier: Apache-2.0

//! Slots of metadata servers.

use super::actions;
use crate::action::Action;
use crate::facts::Facts;
use crate::model::slots::servers;
use maud::{Markup, html};

pub(crate) fn slots(facts: &Facts<'_>) -> Markup {
    let servers = servers(facts);
    let moving = facts.map.moves.len();
    let cancel = if moving > 0 { vec![("Give up the moves…", Action::CancelMoves)] } else { Vec::new() };
    html! {
        @if !servers.is_empty() {
            section aria-labelledby="slots-title" {
                h2 id="slots-title" { "Metadata servers" }
                div class="scroll" tabindex="0" role="region" aria-label="Metadata servers" {
                    table {
                        caption {
                            "Slots, the parts of the name space, by the server that serves them"
                            @if moving > 0 { "; " (moving) " are on their way" }
                        }
                        thead { tr {
                            th scope="col" { "Server" } th scope="col" { "Works on" } th scope="col" class="number" { "Slots" }
                            th scope="col" class="number" { "Going" } th scope="col" class="number" { "Coming" }
                        } }
                        tbody {
                            @for (id, server) in servers.iter().take(crate::model::MOST_ROWS) {
                                tr {
                                    th scope="row" { (id) }
                                    td { (facts.map.server_node(*id).map_or("–", |node| &node.alias)) }
                                    td class="number" { (server.slots) } td class="number" { (server.going) } td class="number" { (server.coming) }
                                }
                            }
                        }
                    }
                }
                (super::more(servers.len().saturating_sub(crate::model::MOST_ROWS), "servers"))
                (actions(facts.may_act, &cancel, "all slots"))
            }
        }
    }
}
