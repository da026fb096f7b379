// SPDX-License-Identifier: Apache-2.0

//! `nyala meta`: runs a metadata service until SIGTERM or SIGINT.

use super::{Asked, ServiceArgs, block_on, manager, stop_signal};
use crate::config::MetaSettings;
use crate::exit::{Exit, Failure, Outcome};
use nyala_meta::MetaConfig;

/// Flags of `nyala meta`.
#[derive(Clone, Debug, clap::Args)]
pub struct MetaArgs {
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    settings: MetaSettings,
}

/// How a service with these flags is asked whether it is well.
pub fn asked(args: MetaArgs) -> Result<Asked, Failure> {
    Ok(asked_of(&args.service.settings(args.settings)?.resolve()?))
}

fn asked_of(config: &MetaConfig) -> Asked {
    let listen = config.listen;
    Asked::new(listen, &config.secret_file, config.encrypt)
}

/// Runs the service.
pub fn run(args: MetaArgs) -> Outcome {
    args.service.detach();
    super::make_files_private();
    crate::bundle::report::offer(args.service.config.clone());
    let config = args.service.settings(args.settings)?.resolve()?;
    let asked = asked_of(&config);
    block_on(async {
        let stop = stop_signal()?;
        let service = async {
            nyala_meta::run(config, stop).await.map_err(|error| {
                tracing::error!(%error, "the metadata service ends");
                Failure::from(error)
            })
        };
        manager::watched(asked, service).await
    })?;
    Ok(Exit::Ok)
}
