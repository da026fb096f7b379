// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala pool …`.

use crate::cluster::ClusterArgs;
use nyala_wire::TargetId;

/// `nyala pool …`
#[derive(Debug, clap::Subcommand)]
pub enum PoolCommand {
    /// List the pools and their targets
    List(PoolListArgs),
    /// Show a pool and the state of its targets
    Show(PoolShowArgs),
    /// Make a pool; directories use it by `nyala entry set --pool`
    Create(PoolCreateArgs),
    /// Give a pool another alias, or move targets to it; files that exist stay where they are
    Modify(PoolModifyArgs),
    /// Delete a pool that has no targets
    Delete(PoolDeleteArgs),
}

/// Flags of `nyala pool list`.
#[derive(Clone, Debug, clap::Args)]
pub struct PoolListArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

/// Flags of `nyala pool show`.
#[derive(Clone, Debug, clap::Args)]
pub struct PoolShowArgs {
    /// Id or alias of the pool
    #[arg(value_name = "POOL")]
    pub(super) pool: String,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

/// Flags of `nyala pool delete`.
#[derive(Clone, Debug, clap::Args)]
pub struct PoolDeleteArgs {
    /// Id or alias of the pool
    #[arg(value_name = "POOL")]
    pub(super) pool: String,
    /// I know what goes; without it nothing is changed
    #[arg(long)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

/// Flags of `nyala pool create`.
#[derive(Clone, Debug, clap::Args)]
pub struct PoolCreateArgs {
    /// Its alias
    #[arg(value_name = "ALIAS")]
    pub(super) alias: String,
    /// Storage targets that move to it
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',')]
    pub(super) targets: Vec<TargetId>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}

/// Flags of `nyala pool modify`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true).args(["alias", "targets"]))]
pub struct PoolModifyArgs {
    /// Id or alias of the pool
    #[arg(value_name = "POOL")]
    pub(super) pool: String,
    /// Another alias
    #[arg(long, value_name = "ALIAS")]
    pub(super) alias: Option<String>,
    /// Storage targets that move to it; one that is to leave it moves to another pool, or to `default`
    #[arg(long, value_name = "TARGET,…", value_delimiter = ',')]
    pub(super) targets: Vec<TargetId>,
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
}
