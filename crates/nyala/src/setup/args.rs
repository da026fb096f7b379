// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala setup …`.

pub use super::common_args::{CommonSetup, ServiceSetup};

use super::mon_args::MonSetup;
use crate::command::setup_check::SetupCheckArgs;
use crate::config::TargetArg;
use crate::units::Hosts;
use std::path::PathBuf;

/// `nyala setup …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum SetupCommand {
    /// Set up a management service on this host
    Mgmtd(MgmtdSetup),
    /// Set up a metadata service on this host
    Meta(MetaSetup),
    /// Set up a storage service on this host, or add targets to it
    Storage(StorageSetup),
    /// Set up a monitoring service on this host
    Mon(MonSetup),
    /// Set up this host for commands and mounts
    Client(ClientSetup),
    /// Look at file systems, kernel, clocks and network of this host, and at the ways between servers; say what to change; exit code 6 for a
    /// danger
    Check(SetupCheckArgs),
}

/// Flags of `nyala setup mgmtd`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MgmtdSetup {
    /// Directory of the cluster state [default: /var/lib/nyala/mgmtd]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Become a further management node of the cluster whose management is here
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub join: Option<Hosts>,
    /// Wait for `nyala mgmt add` instead of making a cluster
    #[arg(long, conflicts_with = "join")]
    pub standby: bool,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup meta`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MetaSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// Directory of the metadata target [default: /var/lib/nyala/meta]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Wished name [default: management chooses]
    #[arg(long, value_name = "NAME")]
    pub alias: Option<String>,
    /// A spare: it gets no part of the name space and becomes a member of a mirror group
    #[arg(long)]
    pub spare: bool,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup storage`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StorageSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// The service's own directory [default: /var/lib/nyala/storage]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// A storage target; may be given several times, and later again to add one
    #[arg(long = "target", value_name = "DIR[,id=N][,alias=NAME][,limit=SIZE]")]
    pub targets: Vec<TargetArg>,
    /// Wished name [default: management chooses]
    #[arg(long, value_name = "NAME")]
    pub alias: Option<String>,
    /// What every service has.
    #[command(flatten)]
    pub service: ServiceSetup,
}

/// Flags of `nyala setup client`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ClientSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// Mount the file system here at every boot: adds a line to /etc/fstab
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,
    /// Mount options of that line
    #[arg(long, value_name = "OPTIONS", requires = "mount", default_value = "_netdev,nofail")]
    pub options: String,
    /// What every role has.
    #[command(flatten)]
    pub common: CommonSetup,
}
