// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmtd`: runs a management service until SIGTERM or SIGINT.

use super::{ServiceArgs, block_on, stop_signal};
use crate::config::MgmtdSettings;
use crate::exit::{Exit, Failure, Outcome};

/// Flags of `nyala mgmtd`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtdArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: MgmtdSettings,
}

/// Runs the service.
pub fn run(args: MgmtdArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    let config = args.service.settings(args.settings)?.resolve()?;
    block_on(async {
        let stop = stop_signal()?;
        nyala_mgmt::run(config, stop).await.map_err(|error| {
            tracing::error!(%error, "the management service ends");
            Failure::from(error)
        })
    })?;
    Ok(Exit::Ok)
}
