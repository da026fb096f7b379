// SPDX-License-Identifier: Apache-2.0

//! Which access rule counts for a client, and what it is held to by that. Pure.
//!
//! **Failure model.** That of [`crate::access_rules`].

use crate::access_rules::{ANY_KEY, AccessRule, Admit};
use crate::ids::InodeId;
use crate::key_rules::KeyRule;
use crate::map::ClusterMap;
use std::net::IpAddr;

/// Who asks, as far as it is proven.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// Id of the key that it proved.
    pub key: &'a str,
    /// It proved a key of operators: rules for any key are not about it.
    pub operator: bool,
    /// Where it is.
    pub address: IpAddr,
}

/// What one client is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// Users and changes.
    pub rule: KeyRule,
    /// The directory that it must not leave.
    pub root: Option<InodeId>,
    /// It is not let in.
    pub refused: bool,
}

/// How closely a rule describes a client, if it fits: a key by name before any key, then the longer prefix.
fn fits(rule: &AccessRule, asker: Asker<'_>) -> Option<(bool, u8)> {
    let named = rule.rule.key == asker.key;
    let wide = rule.rule.key == ANY_KEY && !asker.operator;
    let near = match rule.network {
        Some(network) => network.has(asker.address).then(|| network.bits() + 1)?,
        None => 0,
    };
    (named || wide).then_some((named, near))
}

/// The access rule that counts for a client: the one that fits it best, unless that is for any key and this one has a rule of its own.
pub fn access_rule<'a>(map: &'a ClusterMap, asker: Asker<'_>) -> Option<&'a AccessRule> {
    let fitting = map.access_rules.iter().filter_map(|rule| Some((fits(rule, asker)?, rule)));
    let ((named, _), best) = fitting.max_by_key(|(how, _)| *how)?;
    (named || map.key_rule(asker.key).is_none()).then_some(best)
}

/// What a client is held to, if to anything: by the access rule that counts for it, or else by the rule of its key.
pub fn restriction(map: &ClusterMap, asker: Asker<'_>) -> Option<Restriction> {
    match access_rule(map, asker) {
        Some(rule) => {
            let root = rule.subtree.as_ref().map(|tree| tree.inode);
            let refused = rule.admit == Admit::Refused;
            (rule.admit != Admit::Free).then(|| Restriction { rule: rule.rule.clone(), root, refused })
        }
        None => {
            let rule = map.key_rule(asker.key)?.clone();
            Some(Restriction { rule, root: None, refused: false })
        }
    }
}

/// Whether anybody is held to anything.
pub fn restricts_anybody(map: &ClusterMap) -> bool {
    !map.key_rules.is_empty() || !map.access_rules.is_empty()
}

/// Whether addresses of clients decide about anything: then their connections must come from themselves.
pub fn looks_at_addresses(map: &ClusterMap) -> bool {
    map.access_rules.iter().any(|rule| rule.network.is_some())
}

/// Whether some rule that may be about clients of this key fits `which`: a client does not know how servers see its address.
pub fn may_hold(map: &ClusterMap, key: &str, which: impl Fn(&AccessRule) -> bool) -> bool {
    let about = |rule: &&AccessRule| rule.rule.key == key || rule.rule.key == ANY_KEY;
    map.access_rules.iter().filter(about).any(which)
}

#[cfg(test)]
mod tests;
