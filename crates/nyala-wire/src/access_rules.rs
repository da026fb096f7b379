// SPDX-License-Identifier: Apache-2.0

//! Which clients servers let in and what they hold them to, by the key that a client proves and the address that it comes from. Pure.
//!
//! **Failure model.** Rules come from an operator; [`AccessRule::check`] refuses those that contradict themselves, before they are stored. Of the
//! rules that fit a client one counts, the most specific ([`crate::restriction`]); the others say nothing about it. The address is
//! the one that the connection comes from as the server sees it: behind a translating router all clients have that router's.

mod network;

pub use network::Network;

use crate::ids::InodeId;
use crate::key_rules::KeyRule;
use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Stands for every key of a client, in [`AccessRule::rule`].
pub const ANY_KEY: &str = "*";
/// Most access rules of a cluster.
pub const MAX_ACCESS_RULES: usize = 256;
/// Longest path of a subtree, bytes (Linux `PATH_MAX`).
pub const MAX_SUBTREE_PATH: usize = 4096;

/// Whether clients that a rule fits are let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
#[cbor(index_only)]
#[serde(rename_all = "lowercase")]
pub enum Admit {
    /// Yes, held to what the rule says.
    #[default]
    #[n(0)]
    Held,
    /// Yes, and held to nothing: an exception from a wider rule.
    #[n(1)]
    Free,
    /// No.
    #[n(2)]
    Refused,
}

/// A directory and everything below it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct Subtree {
    /// The directory. It keeps its number when it is renamed, and the rule follows it.
    #[n(0)]
    pub inode: InodeId,
    /// Its path when the rule was set, for people.
    #[n(1)]
    pub path: String,
}

/// What clients of a key, from a network, are held to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode, Serialize, Deserialize)]
pub struct AccessRule {
    /// The key's id or [`ANY_KEY`], and what holds for users and for changes.
    #[n(0)]
    pub rule: KeyRule,
    /// The addresses of the clients; absent: any.
    #[n(1)]
    pub network: Option<Network>,
    /// All that they see of the file system; absent: everything.
    #[n(2)]
    pub subtree: Option<Subtree>,
    /// Whether they are let in at all.
    #[n(3)]
    pub admit: Admit,
}

impl AccessRule {
    /// The same clients: a cluster has one rule for each key and network.
    pub fn has_clients_of(&self, other: &AccessRule) -> bool {
        self.clients() == other.clients()
    }

    /// Key and network, by which rules are sorted.
    pub fn clients(&self) -> (&str, Option<Network>) {
        (&self.rule.key, self.network)
    }

    /// What is wrong with it, in words that say what to do.
    pub fn check(&self) -> Result<(), String> {
        match self.rule.key == ANY_KEY {
            true => KeyRule { key: "any".to_owned(), ..self.rule.clone() }.check()?,
            false => self.rule.check()?,
        }
        let holds = !self.rule.is_none() || self.subtree.is_some();
        match (self.admit, holds) {
            (Admit::Held, false) => {
                return Err("the rule holds nobody to anything; say to what, or let them in freely".to_owned());
            }
            (Admit::Free | Admit::Refused, true) => {
                return Err("clients that are refused, or let in freely, cannot be held to anything else".to_owned());
            }
            _ => {}
        }
        match &self.subtree {
            Some(tree) if tree.inode == InodeId::ROOT => {
                Err("the root directory is everything; leave the subtree out".to_owned())
            }
            Some(tree) if tree.path.len() > MAX_SUBTREE_PATH => {
                Err(format!("the path of a subtree has at most {MAX_SUBTREE_PATH} bytes"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
