// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmtd`: runs a management service until SIGTERM or SIGINT.

use super::{ServiceArgs, block_on, manager, stop_signal};
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
    let (secret, encrypt) = (config.secret_file.clone(), config.encrypt);
    let listen = config.listen.first().copied().unwrap_or_else(|| ([0, 0, 0, 0], crate::config::MGMT_PORT).into());
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_mgmt::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the management service ends");
                Failure::from(error)
            })
        };
        manager::watched(listen, &secret, encrypt, service).await
    })?;
    Ok(Exit::Ok)
}
