// SPDX-License-Identifier: Apache-2.0

//! `nyala trace DIR`: where the time of single operations goes, through client, network, metadata, storage and mirror.
//!
//! It does the operations itself, on a file of its own that it makes and removes, with a client of its own and nothing in between: what a mount and the
//! kernel add is not in it.
//!
//! **Failure model.** A service may be of an older version, or have forgotten the record: its requests stand there without parts. If the command is killed,
//! its file stays (its name begins with `.nyala-trace.`).

use super::entry_asker::inode_at;
use super::trace_table::render;
use super::trace_work::TracedWork;
use crate::cluster::{ClusterArgs, Way};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Size;
use nyala_client::Client;
use nyala_transport::Tracer;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Flags of `nyala trace`.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// A directory on a mount (or, with a cluster named by flags and nothing mounted, from the root of the file system)
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Bytes of the write and of the read
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    size: Size,
    /// How often each operation is done; the one in the middle by its time is shown
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=99))]
    count: u16,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Traces.
pub fn run(args: TraceArgs, output: Output) -> Outcome {
    if !(1..=1 << 20).contains(&args.size.0) {
        return Err(Failure::usage("--size is from 1 to 1m: the operations are single ones"));
    }
    let operations = block_on(async {
        let (cluster, place) = match args.cluster.find_for(&args.directory)? {
            Way::Cluster(cluster, place) => (cluster, place),
            Way::Mount { why, .. } => {
                return Err(why.context("the mount cannot trace, and the cluster cannot be asked"));
            }
        };
        let tracer = Arc::new(Tracer::default());
        let mut config = cluster.client_config().await?;
        config.tracer = Some(tracer.clone());
        // What it is asked for, it asks servers for.
        (config.cache_time, config.read_ahead_bytes) = (Duration::ZERO, 0);
        let client = Client::connect(config).await?;
        let traced = async {
            let dir = inode_at(&client, &place).await?;
            let work = TracedWork { client: &client, tracer: &tracer, dir, size: args.size.0 as usize };
            work.operations(&cluster, args.count).await
        };
        let operations = traced.await;
        // What was asked for is known; a failing goodbye changes nothing.
        let _ = client.shutdown().await;
        operations
    })?;
    show(output, &operations, |operations| render(operations))
}
