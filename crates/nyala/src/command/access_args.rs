// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala access`.

use super::held_args::HeldArgs;
use crate::cluster::ClusterArgs;
use crate::exit::Failure;
use nyala_wire::access_rules::{AccessRule, Admit, Network, Subtree};
use std::net::IpAddr;
use std::path::PathBuf;

/// `nyala access …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum AccessCommand {
    /// List which clients are let in, and to what
    List(AccessListArgs),
    /// Say what holds for the clients of a key, of a network, or both, instead of what did
    Set(AccessSetArgs),
    /// Remove the rule for these clients
    Delete(AccessDeleteArgs),
}

/// Flags of `nyala access list`.
#[derive(Clone, Debug, clap::Args)]
pub struct AccessListArgs {
    /// Only the rule that counts for a client with this key
    #[arg(long, value_name = "KEY", requires = "address")]
    pub key: Option<String>,
    /// Only the rule that counts for a client at this address
    #[arg(long, value_name = "IP", requires = "key")]
    pub address: Option<IpAddr>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala access set`.
#[derive(Clone, Debug, clap::Args)]
pub struct AccessSetArgs {
    /// The id of the key that the clients show, as nyala secret list shows it; '*' for any
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Only clients at these addresses [default: anywhere]
    #[arg(long, value_name = "NETWORK")]
    pub from: Option<Network>,
    /// The directory that they see as their root, and cannot leave
    #[arg(long, value_name = "PATH")]
    pub root: Option<PathBuf>,
    #[command(flatten)]
    pub held: HeldArgs,
    /// They are not let in
    #[arg(long, conflicts_with = "allow")]
    pub refuse: bool,
    /// They are held to nothing: an exception from a rule for more clients
    #[arg(long)]
    pub allow: bool,
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala access delete`.
#[derive(Clone, Debug, clap::Args)]
pub struct AccessDeleteArgs {
    /// The id of the key; '*' for any
    #[arg(value_name = "KEY")]
    pub key: String,
    /// The network
    #[arg(long, value_name = "NETWORK")]
    pub from: Option<Network>,
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

impl AccessSetArgs {
    /// The rule that they say, with the directory that `--root` names; or what is wrong with it.
    pub fn rule(&self, subtree: Option<Subtree>) -> Result<AccessRule, Failure> {
        let admit = match (self.allow, self.refuse) {
            (true, _) => Admit::Free,
            (false, true) => Admit::Refused,
            (false, false) => Admit::Held,
        };
        let rule = AccessRule { rule: self.held.rule(&self.key), network: self.from, subtree, admit };
        let says = |wrong: String| {
            Failure::usage(format!(
                "{wrong} (--root, --read-only, --squash, --map-users, --map-groups hold clients to something; --refuse and --allow \
                 stand alone)"
            ))
        };
        rule.check().map_err(says)?;
        Ok(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use nyala_wire::InodeId;
    use nyala_wire::key_rules::Squash;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        command: AccessCommand,
    }

    fn set(words: &str) -> Result<AccessSetArgs, String> {
        let words = ["access", "set"].into_iter().chain(words.split_whitespace());
        match Line::try_parse_from(words).map_err(|error| error.to_string())?.command {
            AccessCommand::Set(args) => Ok(args),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_says_a_rule() {
        let args = set("* --from 10.1.0.0/16 --root /projects --read-only --squash root").unwrap();
        let tree = Subtree { inode: InodeId(9), path: "/projects".to_owned() };
        let rule = args.rule(Some(tree.clone())).unwrap();
        assert_eq!((rule.clients().0, rule.network.map(|net| net.to_string())), ("*", Some("10.1.0.0/16".to_owned())));
        assert_eq!(
            (rule.rule.read_only, rule.rule.squash, rule.subtree, rule.admit),
            (true, Squash::Root, Some(tree), Admit::Held)
        );
        assert_eq!(set("lab --refuse").unwrap().rule(None).unwrap().admit, Admit::Refused);
        assert_eq!(set("lab --allow").unwrap().rule(None).unwrap().admit, Admit::Free);
    }

    #[test]
    fn wrong_lines_are_refused_in_words() {
        for (words, says) in [
            ("", "required"),
            ("lab --from 10.0.0.1/8", "the network is 10.0.0.0/8"),
            ("lab --from lan", "is no network"),
            ("lab --refuse --allow", "cannot be used with"),
            ("lab --squash root --anonymous 1", "two numbers"),
        ] {
            let error = set(words).unwrap_err();
            assert!(error.contains(says), "{words}: {error}");
        }
        for (words, says) in [
            ("lab", "nobody to anything"),
            ("lab --refuse --read-only", "cannot be held"),
            ("lab --allow --squash all", "cannot be held"),
            ("no/key --read-only", "is no id of a key"),
        ] {
            let error = set(words).unwrap().rule(None).unwrap_err();
            assert!(error.to_string().contains(says), "{words}: {error}");
        }
    }
}
