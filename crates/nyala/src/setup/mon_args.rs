// SPDX-License-Identifier: Apache-2.0

//! Flags of `nyala setup mon`.

use super::common_args::{CommonSetup, ServiceSetup};
use super::values::read_instance;
use crate::units::Hosts;
use std::path::PathBuf;

/// Flags of `nyala setup mon`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct MonSetup {
    /// Management services
    #[arg(long, value_name = "HOST[:PORT],…")]
    pub mgmt: Option<Hosts>,
    /// Directory of the history [default: /var/lib/nyala/mon]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Name of a further monitoring service on this host
    #[arg(long, value_name = "NAME", value_parser = read_instance)]
    pub instance: Option<String>,
    /// Port for queries, on this host alone [default: 8012]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// What every role has.
    #[command(flatten)]
    pub common: CommonSetup,
}

impl MonSetup {
    /// As a service that listens for nobody but this host.
    pub fn service(&self) -> ServiceSetup {
        ServiceSetup { instance: self.instance.clone(), common: self.common.clone(), ..ServiceSetup::default() }
    }
}
