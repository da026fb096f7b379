// SPDX-License-Identifier: Apache-2.0

//! Flags that several roles have.

use super::values::{read_instance, read_setting};
use std::path::PathBuf;

/// Flags of every role.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct CommonSetup {
    /// Settings file to write [default: /etc/nyala/ROLE.toml, or /etc/nyala/INSTANCE.d/ROLE.toml]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The cluster's secret file [default: /etc/nyala/secret]
    #[arg(long, value_name = "FILE")]
    pub secret: Option<PathBuf>,
    /// Encrypt all traffic; the same on every node of the cluster
    #[arg(long)]
    pub encrypt: bool,
    /// Another key of the settings file; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = read_setting)]
    pub set: Vec<(String, toml::Value)>,
    /// Enable and start it with systemd; for a client: mount it
    #[arg(long)]
    pub start: bool,
    /// Do it without asking
    #[arg(short = 'y', long)]
    pub yes: bool,
}

/// Flags of every service.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServiceSetup {
    /// Name of a further service of its kind on this host
    #[arg(long, value_name = "NAME", value_parser = read_instance)]
    pub instance: Option<String>,
    /// Network interfaces that others are to use, best first [default: the one that faces management]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub interfaces: Vec<String>,
    /// Port to listen on, on all addresses [default: the role's]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// What every role has.
    #[command(flatten)]
    pub common: CommonSetup,
}
