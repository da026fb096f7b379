// SPDX-License-Identifier: Apache-2.0

//! Checks of the file system.

use super::badge;
use crate::checks::{Check, CheckState};
use crate::facts::Facts;
use crate::units;
use maud::{Markup, html};

pub(crate) fn checks(facts: &Facts<'_>) -> Markup {
    html! {
        section aria-labelledby="checks-title" {
            h2 id="checks-title" { "Checks of the file system" }
            @if facts.checks.is_empty() {
                p class="card calm" { "No check is among the last orders of operators. " code { "nyala fsck" } " checks everything, while it is in use." }
            } @else {
                div class="scroll" tabindex="0" role="region" aria-label="Checks of the file system" {
                    table {
                        caption { "The last checks, newest first" }
                        thead { tr {
                            th scope="col" { "Begun" } th scope="col" { "Command" } th scope="col" { "From" } th scope="col" { "State" }
                        } }
                        tbody { @for check in facts.checks { (one(check)) } }
                    }
                }
            }
        }
    }
}

fn one(check: &Check) -> Markup {
    html! {
        tr {
            th scope="row" { (units::moment(check.began_ms)) }
            td { code { "nyala " (check.what) } } td { (check.host) }
            td {
                @match &check.state {
                    CheckState::GoesOn(progress) => { (badge("notice", "goes on")) " " (progress) }
                    CheckState::Over(outcome) => { (outcome) }
                    CheckState::Unknown { leads: true } => {
                        (badge("plain", "given up")) " it was not heard of for a minute, or management did not hear its end"
                    }
                    CheckState::Unknown { leads: false } => {
                        (badge("plain", "not over")) " how far it is knows the node that leads"
                    }
                }
            }
        }
    }
}
