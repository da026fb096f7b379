// SPDX-License-Identifier: Apache-2.0

//! `nyala meta`: runs a metadata service until SIGTERM or SIGINT.

use super::{ServiceArgs, block_on, manager, stop_signal};
use crate::config::MetaSettings;
use crate::exit::{Exit, Failure, Outcome};

/// Flags of `nyala meta`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: MetaSettings,
}

/// Runs the service.
pub fn run(args: MetaArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    let config = args.service.settings(args.settings)?.resolve()?;
    let (secret, encrypt) = (config.secret_file.clone(), config.encrypt);
    let listen = config.listen;
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_meta::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the metadata service ends");
                Failure::from(error)
            })
        };
        manager::watched(listen, &secret, encrypt, service).await
    })?;
    Ok(Exit::Ok)
}
