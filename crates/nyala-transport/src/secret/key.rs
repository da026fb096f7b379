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
}

impl fmt::Display for KeyRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [(self.client, "client"), (self.server, "server"), (self.admin, "admin")];
        let names: Vec<&str> = all.into_iter().filter_map(|(has, name)| has.then_some(name)).collect();
        f.write_str(&names.join(","))
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
}

impl KeyRules {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self == KeyRules::default()
    }
}

impl fmt::Display for KeyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.read_only { "read-only" } else { "" })
    }
}

impl FromStr for KeyRules {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyRules, String> {
        let mut rules = KeyRules::default();
        for word in text.split(',') {
            match word {
                "read-only" => rules.read_only = true,
                other => return Err(format!("{other:?} is no rule of a key: read-only")),
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

/// Keys in the order in which they are shown by who connects as this: the newest first, those with rules only behind all others.
pub(crate) fn offered(keys: &[Key], role: Role) -> impl Iterator<Item = &Key> {
    let fitting = move |ruled: bool| {
        keys.iter().rev().filter(move |key| key.grant.roles.covers(role) && key.grant.rules.is_empty() != ruled)
    };
    fitting(false).chain(fitting(true))
}

#[cfg(test)]
mod tests;
