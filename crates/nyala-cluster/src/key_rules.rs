// SPDX-License-Identifier: Apache-2.0

//! What clients of keys are held to.

use crate::{ClusterError, ClusterState, Event};
use nyala_wire::key_rules::{KeyRule, MAX_KEY_RULES};

/// A rule in the place of a key's former one; one that holds nobody to anything removes it.
pub(crate) fn set(state: &mut ClusterState, rule: KeyRule) -> Result<Vec<Event>, ClusterError> {
    let rules = &mut state.key_rules;
    rule.check().map_err(ClusterError::invalid)?;
    let at = rules.binary_search_by(|other| other.key.cmp(&rule.key));
    let key = rule.key.clone();
    match at {
        Ok(at) if rule.is_none() => drop(rules.remove(at)),
        Ok(at) if rules[at] == rule => return Ok(Vec::new()),
        Ok(at) => rules[at] = rule,
        Err(_) if rule.is_none() => return Ok(Vec::new()),
        Err(_) if rules.len() >= MAX_KEY_RULES => {
            return Err(ClusterError::invalid(format!("{MAX_KEY_RULES} keys have rules, and no more can; clear some")));
        }
        Err(at) => rules.insert(at, rule),
    }
    Ok(vec![Event::KeyRuleChanged(key)])
}
