// SPDX-License-Identifier: Apache-2.0

//! `nyala stats server` and `nyala stats client`: what services count, by service and by the address of who asked; with `--watch`, in each
//! second since the look before.
//!
//! **Failure model.** Services may be away: they are left out, and a warning says so. One that was started again counts from nothing: what it
//! has by then is what it did.

use super::words::word;
use crate::cluster::{Cluster, ClusterArgs, ask_node};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::{Output, Table, print};
use crate::role::block_on;
use crate::units::Span;
use nyala_wire::map::Role;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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

/// What a service did, or what services did for a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    requests: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Requests by operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ops: BTreeMap<String, u64>,
}

type All = BTreeMap<String, Counts>;

/// Counters of a storage service that count an operation once more, in another way.
const TWICE: [&str; 3] = ["without_worker", "zero_copy", "failed"];

/// Adds a service's counters to what is known of it.
fn add_service(counts: &mut Counts, counters: &[(String, u64)]) {
    for (name, value) in counters {
        match name.as_str() {
            "read.bytes" => counts.read_bytes += value,
            "write.bytes" => counts.written_bytes += value,
            name => {
                let op = name.strip_prefix("op.").filter(|op| !TWICE.contains(op));
                if let Some(op) = op.or_else(|| name.strip_prefix("mgmt.")) {
                    counts.requests += value;
                    *counts.ops.entry(op.to_owned()).or_default() += value;
                }
            }
        }
    }
}

/// Adds what a service counts of its clients: `client.ADDRESS.WHAT`.
fn add_clients(all: &mut All, counters: &[(String, u64)]) {
    for (name, value) in counters {
        let Some((address, what)) = name.strip_prefix("client.").and_then(|name| name.rsplit_once('.')) else {
            continue;
        };
        let counts = all.entry(address.to_owned()).or_default();
        match what {
            "requests" => counts.requests += value,
            "read_bytes" => counts.read_bytes += value,
            "written_bytes" => counts.written_bytes += value,
            _ => {}
        }
    }
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

/// What was done in each second between two looks.
fn rates(before: &All, after: &All, time: Duration) -> All {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
    let none = Counts::default();
    let rate = |now: u64, then: u64| now.checked_sub(then).unwrap_or(now).saturating_mul(1000) / ms;
    let one = |(name, now): (&String, &Counts)| {
        let then = before.get(name).unwrap_or(&none);
        let op = |(op, count): (&String, &u64)| (op.clone(), rate(*count, then.ops.get(op).copied().unwrap_or(0)));
        let counts = Counts {
            role: now.role,
            requests: rate(now.requests, then.requests),
            read_bytes: rate(now.read_bytes, then.read_bytes),
            written_bytes: rate(now.written_bytes, then.written_bytes),
            ops: now.ops.iter().map(op).filter(|(_, rate)| *rate > 0).collect(),
        };
        (name.clone(), counts)
    };
    after.iter().map(one).collect()
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
        Output::Json => {
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

    fn counters(all: &[(&str, u64)]) -> Vec<(String, u64)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn services_and_clients_are_read_from_counters() {
        let said = counters(&[
            ("op.write", 7),
            ("op.zero_copy", 5),
            ("read.bytes", 4096),
            ("log.syncs", 9),
            ("client.10.0.0.1.requests", 6),
            ("client.10.0.0.1.written_bytes", 8192),
            ("client.fd00::7.requests", 1),
        ]);
        let mut counts = Counts::default();
        add_service(&mut counts, &said);
        assert_eq!((counts.requests, counts.read_bytes, counts.ops.len()), (7, 4096, 1));
        let mut all = All::new();
        add_clients(&mut all, &said);
        add_clients(&mut all, &said);
        assert_eq!((all.len(), all["10.0.0.1"].requests, all["10.0.0.1"].written_bytes), (2, 12, 16_384));
    }

    #[test]
    fn rates_are_of_the_time_between_and_survive_a_restart() {
        let at = |requests: u64, create: u64| {
            let ops = BTreeMap::from([("create".to_owned(), create)]);
            All::from([("meta1".to_owned(), Counts { requests, ops, ..Counts::default() })])
        };
        let rate = |before, after, ms| rates(&before, &after, Duration::from_millis(ms))["meta1"].clone();
        assert_eq!(rate(at(100, 10), at(300, 30), 2000).requests, 100);
        assert_eq!(rate(at(100, 10), at(300, 30), 2000).ops["create"], 10);
        assert_eq!(rate(at(100, 10), at(50, 5), 500).requests, 100, "it was started again");
        assert_eq!(rate(at(1, 1), at(1, 1), 0).requests, 0);
        let text = table(&at(3, 2));
        assert!(text.contains("meta1  client  ") && text.contains("create=2"), "{text}");
    }
}
