// SPDX-License-Identifier: Apache-2.0

//! On behalf of which user a client asks.

use crate::key_rules::KeyRule;
use minicbor::{Decode, Encode};

/// Most groups of one caller.
pub const MAX_CALLER_GROUPS: usize = 256;

/// A user, as a client says or as servers take it: with ids of the client's host, or of the cluster. Heard of only from clients whose key has a
/// rule about ids ([`KeyRule::is_about_ids`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Caller {
    /// The user.
    #[n(0)]
    pub uid: u32,
    /// Its group.
    #[n(1)]
    pub gid: u32,
    /// Its other groups, at most [`MAX_CALLER_GROUPS`].
    #[n(2)]
    pub groups: Vec<u32>,
    /// Set by the server, whatever a client says: no user was named, so it may be anybody whom the key may act as under this rule.
    #[n(3)]
    pub anybody: Option<Box<KeyRule>>,
}

impl Caller {
    /// Anybody whom a key may act as.
    pub fn anybody(rule: &KeyRule) -> Caller {
        let rule = KeyRule { key: String::new(), ..rule.clone() };
        Caller { uid: rule.anonymous_uid, gid: rule.anonymous_gid, groups: Vec::new(), anybody: Some(Box::new(rule)) }
    }

    /// As whom a user of a client's host acts under a rule. A group that becomes the anonymous one is left out: it would be others' as well.
    pub fn under(&self, rule: &KeyRule) -> Caller {
        let groups = self.groups.iter().take(MAX_CALLER_GROUPS).map(|gid| rule.group_to_server(*gid));
        let all = rule.squash == crate::key_rules::Squash::All;
        Caller {
            uid: rule.user_to_server(self.uid),
            gid: rule.group_to_server(self.gid),
            groups: groups.filter(|gid| !all && *gid != rule.anonymous_gid).collect(),
            anybody: None,
        }
    }

    /// Whether this user is, or may be, the one who asks.
    pub fn is_user(&self, uid: u32) -> bool {
        self.anybody.as_ref().map_or(self.uid == uid, |rule| rule.may_be_user(uid))
    }

    /// Whether it is, or may be, in this group.
    pub fn is_in(&self, gid: u32) -> bool {
        match &self.anybody {
            Some(rule) => rule.may_be_group(gid),
            None => self.gid == gid || self.groups.contains(&gid),
        }
    }
}
