// SPDX-License-Identifier: Apache-2.0

//! `nyala mgmtd`: runs a management service until SIGTERM or SIGINT.

use super::{Asked, ServiceArgs, block_on, manager, stop_signal};
use crate::config::MgmtdSettings;
use crate::exit::{Exit, Failure, Outcome};
use nyala_mgmt::MgmtConfig;

/// Flags of `nyala mgmtd`.
#[derive(Clone, Debug, clap::Args)]
pub struct MgmtdArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: MgmtdSettings,
}

/// How a service with these flags is asked whether it is well.
pub fn asked(args: MgmtdArgs) -> Result<Asked, Failure> {
    Ok(asked_of(&args.service.settings(args.settings)?.resolve()?))
}

fn asked_of(config: &MgmtConfig) -> Asked {
    let listen = config.listen.first().copied().unwrap_or_else(|| ([0, 0, 0, 0], crate::config::MGMT_PORT).into());
    Asked::new(listen, &config.secret_file, config.encrypt)
}

/// Runs the service.
pub fn run(args: MgmtdArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    crate::bundle::report::offer(args.service.config.clone());
    let config = args.service.settings(args.settings)?.resolve()?;
    let asked = asked_of(&config);
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_mgmt::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the management service ends");
                Failure::from(error)
            })
        };
        manager::watched(asked, service).await
    })?;
    Ok(Exit::Ok)
}
