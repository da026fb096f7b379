// SPDX-License-Identifier: Apache-2.0

//! What the rules that a cluster has say against a change of them, for the command line and the REST API. Pure.
//!
//! **Failure model.** The map may be older than the change: management applies what is asked either way, and the outcome is that of the
//! later of two orders.

use crate::access_rules::Network;
use crate::map::ClusterMap;

/// Refuses a rule of a key that would not count, because the key has an access rule for clients anywhere.
pub fn key_rule_counts(map: &ClusterMap, key: &str) -> Result<(), String> {
    match map.access_rules.iter().any(|rule| rule.clients() == (key, None)) {
        true => Err(format!("key {key} has an access rule, which counts instead; change that: nyala access set {key}")),
        false => Ok(()),
    }
}

/// Refuses where a key has no rule that could end.
pub fn key_rule_exists(map: &ClusterMap, key: &str) -> Result<(), String> {
    match map.key_rule(key) {
        Some(_) => Ok(()),
        None => Err(format!("key {key} has no rules; see nyala key list")),
    }
}

/// Refuses where there is no access rule for exactly these clients.
pub fn access_rule_exists(map: &ClusterMap, key: &str, network: Option<Network>) -> Result<(), String> {
    match map.access_rules.iter().any(|rule| rule.clients() == (key, network)) {
        true => Ok(()),
        false => Err("there is no rule for these clients; see nyala access list".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_rules::AccessRule;
    use crate::key_rules::KeyRule;

    #[test]
    fn rules_are_told_by_key_and_network() {
        let network: Option<Network> = Some("10.1.0.0/16".parse().unwrap());
        let rule = |key: &str, network| AccessRule { rule: KeyRule::none(key), network, ..AccessRule::default() };
        let map = ClusterMap {
            access_rules: vec![rule("lab", network), rule("ops", None)],
            key_rules: vec![KeyRule { read_only: true, ..KeyRule::none("lab") }],
            ..ClusterMap::default()
        };
        assert_eq!(key_rule_counts(&map, "lab"), Ok(()), "that is for one network alone");
        assert!(key_rule_counts(&map, "ops").unwrap_err().contains("change that: nyala access set ops"));
        assert_eq!(key_rule_exists(&map, "lab"), Ok(()));
        assert!(key_rule_exists(&map, "ops").unwrap_err().contains("nyala key list"));
        assert_eq!(access_rule_exists(&map, "lab", network), Ok(()));
        assert!(access_rule_exists(&map, "lab", None).unwrap_err().contains("nyala access list"));
    }
}
