// SPDX-License-Identifier: Apache-2.0

//! An access rule as JSON.

use super::error::ApiError;
use super::held::HeldView;
use nyala_wire::InodeId;
use nyala_wire::access_rules::{AccessRule, Admit, Network, Subtree};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An access rule.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AccessRuleView {
    /// The id of the key that the clients show, as `nyala secret list` shows it; `*` for any.
    key: String,
    /// Only clients at these addresses, such as `10.1.0.0/16`; null: anywhere.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    from: Option<Network>,
    /// `held` to what follows, let in `free` of it, or `refused`.
    #[serde(default)]
    #[schema(value_type = String)]
    admit: Admit,
    /// All that they see of the file system; null: everything.
    #[serde(default)]
    root: Option<RootView>,
    #[serde(default)]
    held: HeldView,
}

/// A directory and everything below it.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RootView {
    /// The directory's inode number in decimal, as `stat -c %i` shows it on a mount; a text, because numbers of JSON lose digits in some programs.
    inode: String,
    /// Its path, for people.
    path: String,
}

impl From<&AccessRule> for AccessRuleView {
    fn from(rule: &AccessRule) -> AccessRuleView {
        let root = |tree: &Subtree| RootView { inode: tree.inode.0.to_string(), path: tree.path.clone() };
        AccessRuleView {
            key: rule.rule.key.clone(),
            from: rule.network,
            admit: rule.admit,
            root: rule.subtree.as_ref().map(root),
            held: (&rule.rule).into(),
        }
    }
}

impl AccessRuleView {
    /// The rule, if it is one.
    pub(super) fn rule(self) -> Result<AccessRule, ApiError> {
        let subtree = match self.root {
            Some(RootView { inode, path }) if path.starts_with('/') => {
                let inode = inode.parse().map_err(|_| {
                    ApiError::invalid(format!("{inode:?} is no inode number; stat -c %i shows that of a directory"))
                })?;
                Some(Subtree { inode: InodeId(inode), path })
            }
            Some(_) => {
                return Err(ApiError::invalid(
                    "the path of root begins at the root of the file system, such as /projects",
                ));
            }
            None => None,
        };
        let rule = AccessRule { rule: self.held.rule(self.key), network: self.from, subtree, admit: self.admit };
        rule.check().map_err(ApiError::invalid)?;
        Ok(rule)
    }
}
