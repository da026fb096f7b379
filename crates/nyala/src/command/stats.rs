// SPDX-License-Identifier: Apache-2.0

//! `nyala stats server` and `nyala stats client`: what services count, by service and by the address of who asked; with `--watch`, in each
//! second since the look before.
//!
//! **Failure model.** Services may be away: they are left out, and a warning says so. One that was started again counts from nothing: what it
//! has by then is what it did.

use super::stats_counts::{All, add_clients, add_service, rates};
use super::words::word;
use crate::cluster::{Cluster, ClusterArgs, ask_node};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, Table, print};
use crate::role::block_on;
use crate::units::Span;
use nyala_wire::map::Role;
use std::time::Instant;

/// `nyala stats …`
#[derive(Clone, Debug, clap::Subcommand)]
pub enum StatsCommand {
    /// By service
    Server(StatsArgs),
    /// By the address of the client
    Client(StatsArgs),
}

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

async fn look(cluster: &Cluster, by_client: bool) -> Result<All, Failure> {
    let mut all = All::new();
    for node in cluster.map().await?.nodes.iter().filter(|node| node.role != Role::Client) {
        let answer = ask_node(&node.addresses, &cluster.handshake()).await;
        let Some(stats) = answer.stats else {
            tracing::warn!(node = %node.id, alias = node.alias, "the service does not say what it counts");
            continue;
        };
        if by_client {
            add_clients(&mut all, &stats.counters);
        } else {
            let counts = all.entry(node.alias.clone()).or_default();
            counts.role = Some(node.role);
            add_service(counts, &stats.counters);
        }
    }
    Ok(all)
}

fn table(all: &All) -> String {
    let mut table = Table::new(&["NAME", "TYPE", "REQUESTS", "READ_BYTES", "WRITTEN_BYTES", "OPERATIONS"]);
    for (name, counts) in all {
        let mut ops: Vec<(&String, &u64)> = counts.ops.iter().filter(|(_, count)| **count > 0).collect();
        ops.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let ops: Vec<String> = ops.into_iter().map(|(op, count)| format!("{op}={count}")).collect();
        table.row([
            name.clone(),
            counts.role.as_ref().map_or_else(|| "client".to_owned(), word),
            counts.requests.to_string(),
            counts.read_bytes.to_string(),
            counts.written_bytes.to_string(),
            ops.join(" "),
        ]);
    }
    table.render()
}

/// One look on one line for programs, as a table for people.
fn show(all: &All, output: Output) -> Outcome {
    match output {
        Output::Table => print(&table(all)),
        Output::Json | Output::Ndjson => {
            let line = serde_json::to_string(all);
            print(&(line.map_err(|error| Failure::failed(format!("cannot write JSON: {error}")))? + "\n"))
        }
    }
}

/// Shows counts, or rates.
pub fn run(command: StatsCommand, output: Output) -> Outcome {
    let (by_client, args) = match command {
        StatsCommand::Server(args) => (false, args),
        StatsCommand::Client(args) => (true, args),
    };
    block_on(async {
        let cluster = args.cluster.find()?;
        let mut before = look(&cluster, by_client).await?;
        let Some(Span(pause)) = args.watch else { return show(&before, output) };
        let mut looked = Instant::now();
        for _ in 0..args.count.unwrap_or(u64::MAX) {
            tokio::time::sleep(pause).await;
            let (after, now) = (look(&cluster, by_client).await?, Instant::now());
            show(&rates(&before, &after, now - looked), output)?;
            (before, looked) = (after, now);
        }
        Ok(Exit::Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::stats_counts::Counts;
    use std::collections::BTreeMap;

    #[test]
    fn operations_stand_in_the_order_of_their_number() {
        let ops = BTreeMap::from([("create".to_owned(), 2), ("lookup".to_owned(), 7), ("rename".to_owned(), 0)]);
        let text = table(&All::from([("meta1".to_owned(), Counts { requests: 9, ops, ..Counts::default() })]));
        assert!(text.contains("meta1  client  ") && text.contains("lookup=7 create=2\n"), "{text}");
    }
}
