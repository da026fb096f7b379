// SPDX-License-Identifier: Apache-2.0

//! What clients are held to, as the API shows and takes it.

use nyala_wire::key_rules::{IdRange, KeyRule, Squash};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What clients are held to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct HeldView {
    /// Servers refuse every change.
    read_only: bool,
    /// Whose ids count as the anonymous user and group: those of `none`, `root` or `all`.
    #[schema(value_type = String)]
    squash: Squash,
    /// The anonymous user.
    anonymous_uid: u32,
    /// The anonymous group.
    anonymous_gid: u32,
    /// Users of the client's host that count as users of the cluster; all others count as anonymous. Empty: each is who it says.
    users: Vec<RangeView>,
    /// The same for groups.
    groups: Vec<RangeView>,
}

/// A range of ids of users or groups.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeView {
    /// First id on the client's host.
    client: u32,
    /// First id in the cluster.
    server: u32,
    /// How many.
    count: u32,
}

impl Default for HeldView {
    fn default() -> HeldView {
        HeldView::from(&KeyRule::none(""))
    }
}

impl From<&KeyRule> for HeldView {
    fn from(rule: &KeyRule) -> HeldView {
        let ranges = |ranges: &[IdRange]| -> Vec<RangeView> {
            ranges.iter().map(|&IdRange { client, server, count }| RangeView { client, server, count }).collect()
        };
        HeldView {
            read_only: rule.read_only,
            squash: rule.squash,
            anonymous_uid: rule.anonymous_uid,
            anonymous_gid: rule.anonymous_gid,
            users: ranges(&rule.users),
            groups: ranges(&rule.groups),
        }
    }
}

impl HeldView {
    /// As the rule of a key.
    pub(super) fn rule(self, key: String) -> KeyRule {
        let ranges = |ranges: Vec<RangeView>| -> Vec<IdRange> {
            ranges.iter().map(|&RangeView { client, server, count }| IdRange { client, server, count }).collect()
        };
        KeyRule {
            key,
            read_only: self.read_only,
            squash: self.squash,
            anonymous_uid: self.anonymous_uid,
            anonymous_gid: self.anonymous_gid,
            users: ranges(self.users),
            groups: ranges(self.groups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nyala_wire::key_rules::NOBODY;

    #[test]
    fn what_is_left_out_holds_nobody() {
        let nothing: HeldView = serde_json::from_str("{}").unwrap();
        let rule = nothing.rule("lab".to_owned());
        assert_eq!(rule, KeyRule::none("lab"));
        assert_eq!((rule.anonymous_uid, rule.anonymous_gid), (NOBODY, NOBODY));
        let text = r#"{"read_only":true,"squash":"root","users":[{"client":1000,"server":50000,"count":10}]}"#;
        let rule = serde_json::from_str::<HeldView>(text).unwrap().rule("lab".to_owned());
        assert_eq!((rule.read_only, rule.squash, rule.users[0].server), (true, Squash::Root, 50_000));
        assert_eq!(HeldView::from(&rule).rule("lab".to_owned()), rule);
        assert!(serde_json::from_str::<HeldView>(r#"{"readonly":true}"#).is_err());
    }
}
