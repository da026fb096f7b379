// SPDX-License-Identifier: Apache-2.0

//! `nyala umount MOUNTPOINT`.

use crate::exit::{Exit, Outcome};
use crate::mount::unmount::unmount;
use std::path::PathBuf;

/// Flags of `nyala umount`.
#[derive(Clone, Debug, clap::Args)]
pub struct UmountArgs {
    /// The mount point
    pub mountpoint: PathBuf,
    /// Detach now and end when the last user is gone
    #[arg(short = 'l', long, visible_alias = "force")]
    pub lazy: bool,
}

/// Unmounts, and waits until everything written is with the servers.
pub fn run(args: UmountArgs) -> Outcome {
    unmount(&args.mountpoint, args.lazy)?;
    Ok(Exit::Ok)
}
