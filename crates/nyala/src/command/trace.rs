// SPDX-License-Identifier: Apache-2.0

//! `nyala trace DIR`: where the time of single operations goes, through client, network, metadata, storage and mirror.
//!
//! It does the operations itself, on a file of its own that it makes and removes, with a client of its own and nothing in between: what a mount and the
//! kernel add is not in it. With `--mount` it looks at what programs do through a mount instead ([`super::trace_mount`]).
//!
//! **Failure model.** A service may be of an older version, or have forgotten the record: its requests stand there without parts. If the command is killed,
//! its file stays (its name begins with `.nyala-trace.`).

use super::entry_asker::inode_at;
use super::trace_mount::FollowArgs;
use super::trace_otlp::spans;
use super::trace_parts::middle;
use super::trace_table::{Operation, render};
use super::trace_work::TracedWork;
use crate::cluster::{ClusterArgs, PathLocation, Way};
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show};
use crate::role::block_on;
use crate::units::Size;
use nyala_client::Client;
use nyala_mon::{Url, otlp};
use nyala_transport::Tracer;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Flags of `nyala trace`.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// A directory on a mount (or, with a cluster named by flags and nothing mounted, from the root of the file system); with --mount anything on it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    mount: FollowArgs,
    /// Bytes of the write and of the read
    #[arg(long, value_name = "SIZE", default_value = "4k")]
    size: Size,
    /// How often each operation is done; the one in the middle by its time is shown
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=99))]
    count: u16,
    /// Give all that was followed to a collector of OpenTelemetry, as OTLP over HTTP (its address ends before /v1/traces)
    #[arg(long, env = "NYALA_OTLP", value_name = "URL")]
    otlp: Option<Url>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Traces.
pub fn run(args: TraceArgs, output: Output) -> Outcome {
    if args.mount.mount {
        let operations = block_on(async {
            match args.cluster.find_for(&args.directory)? {
                Way::Cluster(cluster, PathLocation::Mounted(path, _)) => args.mount.follow(&cluster, &path).await,
                Way::Cluster(..) => Err(Failure::usage("--mount is for paths on a mount")),
                Way::Mount { why, .. } => Err(why.context("the cluster cannot be asked for what services recorded")),
            }
        })?;
        return tell(operations, args.otlp.as_ref(), output);
    }
    if !(1..=1 << 20).contains(&args.size.0) {
        return Err(Failure::usage("--size is from 1 to 1m: the operations are single ones"));
    }
    let operations = block_on(async {
        let (cluster, location) = match args.cluster.find_for(&args.directory)? {
            Way::Cluster(cluster, location) => (cluster, location),
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
            let dir = inode_at(&client, &location).await?;
            let work = TracedWork { client: &client, tracer: &tracer, dir, size: args.size.0 as usize };
            work.operations(&cluster, args.count).await
        };
        let operations = traced.await;
        // What was asked for is known; a failing goodbye changes nothing.
        let _ = client.shutdown().await;
        operations
    })?;
    tell(operations, args.otlp.as_ref(), output)
}

/// Gives all to a collector, if one is named, and shows of each operation the one in the middle.
fn tell(operations: Vec<Vec<Operation>>, collector: Option<&Url>, output: Output) -> Outcome {
    if let Some(collector) = collector {
        let sent = block_on(async { Ok(otlp::send(collector, &spans(operations.iter().flatten())).await) })?;
        sent.map_err(|why| Failure::failed(format!("the collector at {collector} does not take the spans: {why}")))?;
    }
    let shown: Vec<Operation> = operations.into_iter().filter_map(middle).collect();
    show(output, &shown, |operations| render(operations))
}
