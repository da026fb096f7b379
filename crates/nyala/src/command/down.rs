// SPDX-License-Identifier: Apache-2.0

//! `nyala down`: unmounts and stops the cluster of `nyala up`. Its data stays.

use crate::exit::Outcome;
use crate::output::{Output, show};
use crate::up::{ClusterDir, DEFAULT_DIR, stop_all};
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
    let cluster_dir = ClusterDir::new(&args.dir);
    let plan = cluster_dir.load()?;
    let _lock = cluster_dir.lock()?;
    let killed = stop_all(&cluster_dir, &plan, args.force)?;
    let result = serde_json::json!({ "dir": cluster_dir.dir().to_string_lossy(), "killed": killed });
    show(output, &result, |_| {
        let mut text = format!("The cluster in {} is down.\n", cluster_dir.dir().display());
        if !killed.is_empty() {
            text += &format!("These did not end in time and were killed: {}\n", killed.join(", "));
        }
        text
    })
}
