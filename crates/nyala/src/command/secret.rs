// SPDX-License-Identifier: Apache-2.0

//! `nyala secret FILE`: makes a cluster's secret file.

use crate::exit::{Failure, Outcome};
use crate::output::print;
use nyala_transport::Secret;
use std::path::PathBuf;

/// Flags of `nyala secret`.
#[derive(Clone, Debug, clap::Args)]
pub struct SecretArgs {
    /// Where to; an existing file is never replaced
    #[arg(default_value = crate::config::DEFAULT_SECRET)]
    pub file: PathBuf,
}

/// Makes the file.
pub fn run(args: SecretArgs) -> Outcome {
    // Not a wrong configuration, but a file that could not be made.
    Secret::generate(&args.file).map_err(|error| Failure::failed(error.to_string()))?;
    print(&format!("{} made (mode 0600); copy it to every host of the cluster\n", args.file.display()))
}
