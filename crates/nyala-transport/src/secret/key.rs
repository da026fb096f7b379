// SPDX-License-Identifier: Apache-2.0

//! What a key of the cluster proves, and to what it is limited. Pure.

use crate::crypto;
use crate::hello::Role;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Longest id of a key, bytes.
pub const MAX_KEY_ID: usize = 32;
/// Id of the only key of a secret file that lists none.
pub const PLAIN_KEY: &str = "plain";

/// As what the holder of a key may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyRoles {
    /// Mounts, libraries, monitoring, and commands that only ask.
    pub client: bool,
    /// Management, metadata and storage services.
    pub server: bool,
    /// Commands that change the cluster; whatever a client may as well.
    pub admin: bool,
}

impl KeyRoles {
    /// Everything.
    pub const ALL: KeyRoles = KeyRoles { client: true, server: true, admin: true };

    /// Whether the holder may connect as this.
    pub fn covers(self, role: Role) -> bool {
        match role {
            Role::Meta | Role::Storage | Role::Mgmt => self.server,
            Role::Cli => self.admin,
            Role::Client | Role::Mon | Role::Other => self.client || self.admin,
        }
    }

    fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.client, "client"), (self.server, "server"), (self.admin, "admin")];
        all.into_iter().filter_map(|(has, name)| has.then_some(name))
    }

    /// Whether the two have one in common.
    pub fn overlaps(self, other: KeyRoles) -> bool {
        (self.client && other.client) || (self.server && other.server) || (self.admin && other.admin)
    }
}

impl fmt::Display for KeyRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(","))
    }
}

impl FromStr for KeyRoles {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyRoles, String> {
        let mut roles = KeyRoles::default();
        for word in text.split(',') {
            match word {
                "client" => roles.client = true,
                "server" => roles.server = true,
                "admin" => roles.admin = true,
                "all" => roles = KeyRoles::ALL,
                other => return Err(format!("{other:?} is no role of a key: client, server, admin, or all")),
            }
        }
        Ok(roles)
    }
}

/// What servers hold every client to that proves a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeyRules {
    /// It changes nothing.
    pub read_only: bool,
    /// Whatever user 0 asks for is asked for by nobody (user and group 65534).
    pub root_squash: bool,
}

impl KeyRules {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == KeyRules::default()
    }
}

impl fmt::Display for KeyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(self.read_only, "read-only"), (self.root_squash, "root-squash")];
        let names: Vec<&str> = all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for KeyRules {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyRules, String> {
        let mut rules = KeyRules::default();
        for word in text.split(',') {
            match word {
                "read-only" => rules.read_only = true,
                "root-squash" => rules.root_squash = true,
                other => return Err(format!("{other:?} is no rule of a key: read-only, root-squash")),
            }
        }
        Ok(rules)
    }
}

/// What a connection's key gives to its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The key's id.
    pub key: Arc<str>,
    /// As what its holder may connect.
    pub roles: KeyRoles,
    /// What it is limited to.
    pub rules: KeyRules,
}

impl Default for Grant {
    /// That of a plain secret: everything.
    fn default() -> Grant {
        Grant { key: Arc::from(PLAIN_KEY), roles: KeyRoles::ALL, rules: KeyRules::default() }
    }
}

/// A key in memory. Printing it shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Key {
    pub grant: Grant,
    pub psk: [u8; 32],
}

impl Key {
    pub(crate) fn new(grant: Grant, secret: &[u8]) -> Key {
        Key { grant, psk: crypto::derive_key(secret) }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("grant", &self.grant).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_needs_its_own_right() {
        let only = |text: &str| text.parse::<KeyRoles>().expect("roles");
        let roles =
            [Role::Client, Role::Meta, Role::Storage, Role::Mgmt, Role::Cli, Role::Mon, Role::Other].into_iter();
        let covered = |text: &str| roles.clone().filter(|role| only(text).covers(*role)).collect::<Vec<_>>();
        assert_eq!(covered("client"), [Role::Client, Role::Mon, Role::Other]);
        assert_eq!(covered("server"), [Role::Meta, Role::Storage, Role::Mgmt]);
        assert_eq!(covered("admin"), [Role::Client, Role::Cli, Role::Mon, Role::Other]);
        assert_eq!(covered("all").len(), 7);
        assert!(only("client,server").overlaps(only("server")) && !only("client,admin").overlaps(only("server")));
    }

    #[test]
    fn words_survive_the_round_trip_and_others_are_refused() {
        for text in ["client", "server", "client,admin", "client,server,admin"] {
            assert_eq!(text.parse::<KeyRoles>().map(|roles| roles.to_string()), Ok(text.to_owned()));
        }
        for text in ["read-only", "root-squash", "read-only,root-squash"] {
            assert_eq!(text.parse::<KeyRules>().map(|rules| rules.to_string()), Ok(text.to_owned()));
        }
        assert!("root".parse::<KeyRoles>().is_err() && "".parse::<KeyRoles>().is_err());
        assert!("ro".parse::<KeyRules>().is_err() && KeyRules::default().is_empty());
    }
}
