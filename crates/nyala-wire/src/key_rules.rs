// SPDX-License-Identifier: Apache-2.0

//! What servers hold the clients of a key to, and how ids of users and groups on a client's host become the cluster's and back. Pure.
//!
//! **Failure model.** Rules come from an operator; [`KeyRule::check`] refuses those that contradict themselves, before they are stored. What a client
//! says of its users is never believed further than its key's rule allows: any id that it names becomes one of those that the key may act as.

mod range;

pub use range::{IdRange, MAX_ID_RANGES};

use minicbor::{Decode, Encode};
use range::{check, to_client};
use serde::{Deserialize, Serialize};

/// User and group that nobody owns anything as, by convention.
pub const NOBODY: u32 = 65_534;
/// Most rules of a cluster: as many as a secret file has keys.
pub const MAX_KEY_RULES: usize = 64;
/// Longest id of a key, bytes.
const MAX_KEY_ID: usize = 32;

/// Whose ids become [`KeyRule::anonymous_uid`] and [`KeyRule::anonymous_gid`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Squash {
    /// Nobody's.
    #[default]
    #[n(0)]
    None,
    /// Those of root, user and group.
    #[n(1)]
    Root,
    /// Everybody's.
    #[n(2)]
    All,
}

/// What clients that prove a key are held to. Users and groups that are in no range, if there are ranges, are the anonymous ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct KeyRule {
    /// The key's id, as servers' secret files call it.
    #[n(0)]
    pub key: String,
    /// They change nothing.
    #[n(1)]
    pub read_only: bool,
    /// Whose ids are not taken for what they are.
    #[n(2)]
    pub squash: Squash,
    /// The user that those are instead.
    #[n(3)]
    pub anonymous_uid: u32,
    /// Their group.
    #[n(4)]
    pub anonymous_gid: u32,
    /// Users; empty: each is who it says.
    #[n(5)]
    pub users: Vec<IdRange>,
    /// Groups; empty: as they are.
    #[n(6)]
    pub groups: Vec<IdRange>,
}

impl KeyRule {
    /// A rule that holds nobody to anything.
    pub fn none(key: impl Into<String>) -> KeyRule {
        KeyRule { key: key.into(), anonymous_uid: NOBODY, anonymous_gid: NOBODY, ..KeyRule::default() }
    }

    /// Whether it holds nobody to anything.
    pub fn is_none(&self) -> bool {
        !self.read_only && !self.is_about_ids()
    }

    /// Whether users and groups are not simply taken for who they say they are: then servers check what each may do.
    pub fn is_about_ids(&self) -> bool {
        self.squash != Squash::None || self.maps_ids()
    }

    /// Whether ids are shown to these clients as others than the cluster's.
    pub fn maps_ids(&self) -> bool {
        !self.users.is_empty() || !self.groups.is_empty()
    }

    /// What is wrong with it, in words that say what to do.
    pub fn check(&self) -> Result<(), String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !(1..=MAX_KEY_ID).contains(&self.key.len()) || !self.key.chars().all(fits) {
            return Err(format!("{:?} is no id of a key; nyala secret list shows them", self.key));
        }
        if self.anonymous_uid == 0 || self.anonymous_uid == u32::MAX || self.anonymous_gid == u32::MAX {
            return Err("the anonymous user must not be root, nor 4294967295".to_owned());
        }
        check("user", &self.users).and_then(|()| check("group", &self.groups))
    }

    /// As which user of the cluster a user of the client's host acts.
    pub fn user_to_server(&self, uid: u32) -> u32 {
        self.to_server(&self.users, self.anonymous_uid, uid)
    }

    /// As which group a group acts.
    pub fn group_to_server(&self, gid: u32) -> u32 {
        self.to_server(&self.groups, self.anonymous_gid, gid)
    }

    /// As whom a client is shown a user of the cluster.
    pub fn user_to_client(&self, uid: u32) -> u32 {
        to_client(&self.users, self.anonymous_uid, uid)
    }

    /// As which group a client is shown a group of the cluster.
    pub fn group_to_client(&self, gid: u32) -> u32 {
        to_client(&self.groups, self.anonymous_gid, gid)
    }

    /// Whether some user of such a client acts as this user of the cluster.
    pub fn may_be_user(&self, uid: u32) -> bool {
        self.may_be(&self.users, self.anonymous_uid, uid)
    }

    /// Whether some user of such a client acts as one in this group of the cluster.
    pub fn may_be_group(&self, gid: u32) -> bool {
        self.may_be(&self.groups, self.anonymous_gid, gid)
    }

    fn to_server(&self, ranges: &[IdRange], anonymous: u32, id: u32) -> u32 {
        if self.squash == Squash::All || (self.squash == Squash::Root && id == 0) {
            return anonymous;
        }
        let mapped = match ranges {
            [] => Some(id),
            ranges => ranges.iter().find_map(|range| range.to_server(id)),
        };
        mapped.filter(|id| self.squash == Squash::None || *id != 0).unwrap_or(anonymous)
    }

    fn may_be(&self, ranges: &[IdRange], anonymous: u32, id: u32) -> bool {
        let named = ranges.is_empty() || ranges.iter().any(|range| range.to_client(id).is_some());
        id == anonymous
            || match self.squash {
                Squash::None => named,
                Squash::Root => named && id != 0,
                Squash::All => false,
            }
    }
}

#[cfg(test)]
mod tests;
