// SPDX-License-Identifier: Apache-2.0

//! `nyala storage`: runs a storage service until SIGTERM or SIGINT.

use super::{Asked, ServiceArgs, block_on, manager, stop_signal};
use crate::config::StorageSettings;
use crate::exit::{Exit, Failure, Outcome};
use nyala_storage::StorageConfig;

/// Flags of `nyala storage`.
#[derive(Clone, Debug, clap::Args)]
pub struct StorageArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: StorageSettings,
}

/// How a service with these flags is asked whether it is well.
pub fn asked(args: StorageArgs) -> Result<Asked, Failure> {
    Ok(asked_of(&args.service.settings(args.settings)?.resolve()?))
}

fn asked_of(config: &StorageConfig) -> Asked {
    let listen = if config.targets.is_empty() { config.drive_listen } else { config.listen };
    Asked::new(listen, &config.secret_file, config.encrypt)
}

/// Runs the service.
pub fn run(args: StorageArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    crate::bundle::report::offer(args.service.config.clone());
    let config = args.service.settings(args.settings)?.resolve()?;
    let asked = asked_of(&config);
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_storage::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the storage service ends");
                Failure::from(error)
            })
        };
        manager::watched(asked, service).await
    })?;
    Ok(Exit::Ok)
}
