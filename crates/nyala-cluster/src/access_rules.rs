// SPDX-License-Identifier: Apache-2.0

//! Which clients are let in, and what they are held to.

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::access_rules::{AccessRule, MAX_ACCESS_RULES, Network};

/// A rule in the place of the one for the same clients.
pub(crate) fn set(state: &mut ClusterState, rule: AccessRule) -> Result<Vec<Event>, ClusterError> {
    let rules = &mut state.access_rules;
    rule.check().map_err(ClusterError::invalid)?;
    let event = Event::AccessRuleChanged(rule.rule.key.clone(), rule.network);
    match rules.binary_search_by(|other| other.clients().cmp(&rule.clients())) {
        Ok(at) if rules[at] == rule => return Ok(Vec::new()),
        Ok(at) => rules[at] = rule,
        Err(_) if rules.len() >= MAX_ACCESS_RULES => {
            return Err(ClusterError::invalid(format!(
                "there are {MAX_ACCESS_RULES} access rules, and no more can be; delete some"
            )));
        }
        Err(at) => rules.insert(at, rule),
    }
    Ok(vec![event])
}

/// Ends the rule for these clients, if there is one.
pub(crate) fn remove(
    state: &mut ClusterState,
    key: &str,
    network: Option<Network>,
) -> Result<Vec<Event>, ClusterError> {
    let rules = &mut state.access_rules;
    let before = rules.len();
    rules.retain(|rule| rule.clients() != (key, network));
    match rules.len() == before {
        true => Ok(Vec::new()),
        false => Ok(vec![Event::AccessRuleChanged(key.to_owned(), network)]),
    }
}
