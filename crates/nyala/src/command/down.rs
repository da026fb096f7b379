// SPDX-License-Identifier: Apache-2.0

//! `nyala down`: unmounts and stops the cluster of `nyala up`. Its data stays.

use crate::exit::Outcome;
use crate::output::{Output, show};
use crate::up::{DEFAULT_DIR, Home, stop_all};
use std::path::PathBuf;

/// Flags of `nyala down`.
#[derive(Clone, Debug, clap::Args)]
pub struct DownArgs {
    /// Directory of the cluster
    #[arg(long, env = "NYALA_DIR", value_name = "DIR", default_value = DEFAULT_DIR)]
    pub dir: PathBuf,
    /// Take the mount away from programs that use it
    #[arg(long)]
    pub force: bool,
}

/// Stops the cluster.
pub fn run(args: DownArgs, output: Output) -> Outcome {
    let home = Home::new(&args.dir);
    let plan = home.load()?;
    let _lock = home.lock()?;
    let killed = stop_all(&home, &plan, args.force)?;
    let result = serde_json::json!({ "dir": home.dir().to_string_lossy(), "killed": killed });
    show(output, &result, |_| {
        let mut text = format!("The cluster in {} is down.\n", home.dir().display());
        if !killed.is_empty() {
            text += &format!("These did not end in time and were killed: {}\n", killed.join(", "));
        }
        text
    })
}
