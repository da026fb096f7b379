// SPDX-License-Identifier: Apache-2.0

//! Flags of commands that may need drives of other hosts.

use crate::config::DEFAULT_SECRET;
use crate::exit::Failure;
use nyala_storage::DriveLocation;
use nyala_storage::drive_set::DriveKeys;
use nyala_transport::Secret;
use std::path::PathBuf;

/// What drives of other hosts want to see.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FarArgs {
    /// With drives of other hosts: the cluster's secret file
    #[arg(long, value_name = "FILE", default_value = DEFAULT_SECRET)]
    pub secret: PathBuf,
    /// With drives of other hosts: the cluster encrypts all traffic
    #[arg(long)]
    pub encrypt: bool,
}

impl FarArgs {
    /// The keys; none if all drives are of this host. Fails if the secret file cannot be read.
    pub fn keys(&self, drives: &[DriveLocation]) -> Result<Option<DriveKeys>, Failure> {
        if drives.iter().all(|drive| drive.dir().is_some()) {
            return Ok(None);
        }
        let secret = Secret::load(&self.secret).map_err(|error| Failure::config(error.to_string()))?;
        Ok(Some(DriveKeys { secret, encrypt: self.encrypt }))
    }
}
