// SPDX-License-Identifier: Apache-2.0

//! `nyala storage`: runs a storage service until SIGTERM or SIGINT.

use super::{ServiceArgs, block_on, manager, stop_signal};
use crate::config::StorageSettings;
use crate::exit::{Exit, Failure, Outcome};

/// Flags of `nyala storage`.
#[derive(Clone, Debug, clap::Args)]
pub struct StorageArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: StorageSettings,
}

/// Runs the service.
pub fn run(args: StorageArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    let config = args.service.settings(args.settings)?.resolve()?;
    let (secret, encrypt) = (config.secret_file.clone(), config.encrypt);
    let listen = if config.targets.is_empty() { config.drive_listen } else { config.listen };
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_storage::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the storage service ends");
                Failure::from(error)
            })
        };
        manager::watched(listen, &secret, encrypt, service).await
    })?;
    Ok(Exit::Ok)
}
