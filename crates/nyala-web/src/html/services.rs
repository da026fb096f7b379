// SPDX-License-Identifier: Apache-2.0

//! Services: who answers, and what it costs its host.

use super::{badge, more, reachability};
use crate::facts::Facts;
use crate::figures::ServiceFigures;
use crate::model::{Cut, MOST_ROWS};
use crate::units;
use maud::{Markup, html};
use nyala_cluster::word::Word;
use nyala_wire::map::{Node, Reachability};
use std::collections::BTreeMap;

pub(crate) fn services(facts: &Facts<'_>) -> Markup {
    let said = facts.figures.iter().flat_map(|figures| &figures.services);
    let said: BTreeMap<&str, &ServiceFigures> = said.map(|service| (service.name.as_str(), service)).collect();
    let mut nodes: Vec<&Node> = facts.map.nodes.iter().collect();
    nodes.sort_by_key(|node| (node.reachability == Reachability::Online, node.id));
    let cut = Cut::of(nodes, MOST_ROWS);
    html! {
        section {
            div class="scroll" tabindex="0" role="region" aria-label="Services" {
                table {
                    caption { "Services, those that are not online first" }
                    thead { tr {
                        th scope="col" { "Node" } th scope="col" { "Kind" } th scope="col" { "Address" } th scope="col" { "State" }
                        th scope="col" { "Answers" } th scope="col" class="number" { "Requests" } th scope="col" class="number" { "p99" }
                        th scope="col" class="number" { "Slow" } th scope="col" class="number" { "Processor" } th scope="col" class="number" { "Memory" }
                    } }
                    tbody { @for node in &cut.rows { (one(node, said.get(node.alias.as_str()).copied())) } }
                }
            }
            (more(cut.more, "services"))
        }
    }
}

/// Operations of the last minutes that took longer than an operator finds usual.
fn slow(service: &ServiceFigures) -> Option<String> {
    service.said.as_ref()?.slow_operations.map(|count| count.to_string())
}

fn one(node: &Node, said: Option<&ServiceFigures>) -> Markup {
    let figures = said.filter(|service| service.failed.is_none());
    let show = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    html! {
        tr {
            th scope="row" { (node.id) " " span class="quiet" { (node.alias) } }
            td { (node.role.word()) }
            td { @if let Some(address) = node.addresses.first() { code { (address) } } @else { "–" } }
            td { (reachability(node.reachability)) }
            td {
                @match said.map(|service| service.failed.as_ref()) {
                    None => "not asked yet",
                    Some(None) => (badge("good", "yes")),
                    Some(Some(why)) => { (badge("critical", "no")) " " span class="quiet" { (why) } },
                }
            }
            td class="number" { (show(figures.map(|service| units::rate(service.requests)))) }
            td class="number" { (show(figures.and_then(|service| service.p99_s).map(units::seconds))) }
            td class="number" { (show(said.and_then(slow))) }
            td class="number" { (show(figures.map(|service| units::percent(service.cpu)))) }
            td class="number" { (show(figures.map(|service| units::bytes(service.memory)))) }
        }
    }
}
