// SPDX-License-Identifier: Apache-2.0

//! Looks at what services count: one, or again and again.
//!
//! **Failure model.** Services may be away: they are left out, and a warning says so.

use crate::cluster::{Cluster, ClusterArgs, ask_node};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, print};
use crate::units::Span;
use nyala_wire::map::{Node, Role};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Flags of `nyala stats …`.
#[derive(Clone, Debug, clap::Args)]
pub struct StatsArgs {
    /// Print what was done in each second, again and again after this time [default: 1s]
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1s")]
    watch: Option<Span>,
    /// End after so many
    #[arg(long, value_name = "N", requires = "watch")]
    count: Option<u64>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Asks all services of these kinds, and gives what each of them counts to `add`.
pub(super) async fn each(
    cluster: &Cluster,
    asked: impl Fn(Role) -> bool,
    mut add: impl FnMut(&Node, &[(String, u64)]),
) -> Result<(), Failure> {
    for node in cluster.map().await?.nodes.iter().filter(|node| asked(node.role)) {
        let answer = ask_node(&node.addresses, &cluster.handshake()).await;
        let Some(stats) = answer.stats else {
            tracing::warn!(node = %node.id, alias = node.alias, "the service does not say what it counts");
            continue;
        };
        add(node, &stats.counters);
    }
    Ok(())
}

/// One look: for people, or on one line for programs.
pub(super) fn say(table: impl FnOnce() -> String, all: &impl Serialize, output: Output) -> Outcome {
    match output {
        Output::Table => print(&table()),
        Output::Json | Output::Ndjson => {
            let line = serde_json::to_string(all);
            print(&(line.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))? + "\n"))
        }
    }
}

/// Looks once, or again and again.
pub(super) async fn again(args: &StatsArgs, mut look: impl AsyncFnMut(&Cluster) -> Outcome) -> Outcome {
    let cluster = args.cluster.find()?;
    let Some(Span(pause)) = args.watch else { return look(&cluster).await };
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        look(&cluster).await?;
        tokio::time::sleep(pause).await;
    }
    Ok(Exit::Ok)
}

/// Shows one look, or what changed between looks in each second.
pub(super) async fn repeat<T>(
    args: &StatsArgs,
    look: impl AsyncFn(&Cluster) -> Result<T, Failure>,
    rates: impl Fn(&T, &T, Duration) -> T,
    mut show: impl FnMut(&T) -> Outcome,
) -> Outcome {
    let cluster = args.cluster.find()?;
    let mut before = look(&cluster).await?;
    let Some(Span(pause)) = args.watch else { return show(&before) };
    let mut looked = Instant::now();
    for _ in 0..args.count.unwrap_or(u64::MAX) {
        tokio::time::sleep(pause).await;
        let (after, now) = (look(&cluster).await?, Instant::now());
        show(&rates(&before, &after, now - looked))?;
        (before, looked) = (after, now);
    }
    Ok(Exit::Ok)
}
