// SPDX-License-Identifier: Apache-2.0

//! Busiest clients and users.

use super::{more, no_figures};
use crate::facts::Facts;
use crate::model::clients;
use crate::units;
use maud::{Markup, html};

pub(crate) fn clients(facts: &Facts<'_>) -> Markup {
    let cut = clients::clients(facts);
    html! {
        section aria-labelledby="clients-title" {
            h2 id="clients-title" { "Busiest clients" }
            @if facts.figures.is_none() { (no_figures()) }
            @else if cut.rows.is_empty() { p class="card calm" { "No client has asked for anything yet." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Busiest clients" {
                    table {
                        caption { "Clients by address, as services count them, with the most requests first" }
                        thead { tr {
                            th scope="col" { "Client" } th scope="col" class="number" { "Requests" }
                            th scope="col" class="number" { "Read" } th scope="col" class="number" { "Written" }
                        } }
                        tbody { @for client in &cut.rows { tr {
                            th scope="row" { (client.name) } td class="number" { (units::rate(client.requests)) }
                            td class="number" { (units::byte_rate(client.read)) } td class="number" { (units::byte_rate(client.written)) }
                        } } }
                    }
                }
                (more(cut.more, "clients"))
            }
        }
    }
}

pub(crate) fn users(facts: &Facts<'_>) -> Markup {
    let cut = clients::users(facts);
    html! {
        section aria-labelledby="users-title" {
            h2 id="users-title" { "Busiest users" }
            @if facts.figures.is_none() { (no_figures()) }
            @else if cut.rows.is_empty() { p class="card calm" { "No user has asked metadata services for anything lately." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Busiest users" {
                    table {
                        caption {
                            "Users by number, as metadata services count them, with the most requests first; - is what clients ask for by themselves. "
                            "The last two columns are of mounts that have the option " code { "metrics=IP:PORT" }
                        }
                        thead { tr {
                            th scope="col" { "User" } th scope="col" class="number" { "Requests" } th scope="col" class="number" { "Changes" }
                            th scope="col" class="number" { "At mounts" } th scope="col" class="number" { "Mounts" }
                        } }
                        tbody { @for user in &cut.rows { tr {
                            th scope="row" { (user.uid) } td class="number" { (units::rate(user.requests)) }
                            td class="number" { (units::rate(user.changes)) } td class="number" { (units::rate(user.at_mounts)) }
                            td class="number" { (user.mounts) }
                        } } }
                    }
                }
                (more(cut.more, "users"))
            }
        }
    }
}
