// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala key`.

use super::held_args::HeldArgs;
use crate::cluster::ClusterArgs;
use crate::exit::Failure;
use nyala_wire::key_rules::KeyRule;

/// `nyala key …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum KeyCommand {
    /// List what clients are held to, by the key that they show
    List(KeyListArgs),
    /// Say what servers hold the clients of a key to, instead of what they did
    Set(KeySetArgs),
    /// Hold the clients of a key to nothing any more
    Clear(KeyClearArgs),
}

/// Flags of `nyala key list`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeyListArgs {
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala key clear`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeyClearArgs {
    /// The key's id
    #[arg(value_name = "KEY")]
    pub id: String,
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

/// Flags of `nyala key set`.
#[derive(Clone, Debug, clap::Args)]
pub struct KeySetArgs {
    /// The key's id, as nyala secret list shows it
    #[arg(value_name = "KEY")]
    pub id: String,
    #[command(flatten)]
    pub held: HeldArgs,
    /// Do it; without this it is only shown
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

impl KeySetArgs {
    /// The rule that they say; or what is wrong with it.
    pub fn rule(&self) -> Result<KeyRule, Failure> {
        let rule = self.held.rule(&self.id);
        rule.check().map_err(Failure::usage)?;
        match rule.is_none() {
            true => Err(Failure::usage(format!(
                "this holds nobody to anything: give --read-only, --squash, --map-users or --map-groups; nyala key clear {} removes \
                 rules",
                self.id
            ))),
            false => Ok(rule),
        }
    }
}
