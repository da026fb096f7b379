// SPDX-License-Identifier: Apache-2.0

//! `nyala top`: what services, targets, clients and users do now, on a terminal.
//!
//! **Failure model.** A cluster that does not answer, and what is no terminal, is said before anything is drawn. Then see [`nyala_top`].

use crate::cluster::ClusterArgs;
use crate::exit::{Exit, Failure, Outcome, io};
use crate::output::print;
use crate::role::block_on;
use crate::units::Span;
use clap::ValueEnum;
use nyala_mon::{BusyAsker, Sampler};
use nyala_top::{Looks, Tab};
use std::io::IsTerminal;
use std::time::Duration;

/// Which table comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TabArg {
    /// Processes
    #[default]
    Services,
    /// Targets
    Targets,
    /// Addresses of clients
    Clients,
    /// Users of mounts
    Users,
    /// Operations
    Operations,
    /// The busiest files
    Files,
    /// The busiest directories
    Directories,
}

impl From<TabArg> for Tab {
    fn from(tab: TabArg) -> Tab {
        match tab {
            TabArg::Services => Tab::Services,
            TabArg::Targets => Tab::Targets,
            TabArg::Clients => Tab::Clients,
            TabArg::Users => Tab::Users,
            TabArg::Operations => Tab::Operations,
            TabArg::Files => Tab::Files,
            TabArg::Directories => Tab::Directories,
        }
    }
}

/// Flags of `nyala top`.
#[derive(Clone, Debug, clap::Args)]
pub struct TopArgs {
    /// Time between two looks [default: 1s]
    #[arg(long, value_name = "TIME")]
    interval: Option<Span>,
    /// What is shown first
    #[arg(long, value_enum, default_value_t)]
    table: TabArg,
    /// Print it instead, 80 columns wide, as long as the table is; needs no terminal
    #[arg(long)]
    batch: bool,
    /// End after so many looks
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Shortest and longest time between two looks.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(600));

/// Shows it until a key ends it.
pub fn run(args: TopArgs) -> Outcome {
    let interval = args.interval.map_or(Duration::from_secs(1), |span| span.0);
    if !(INTERVALS.0..=INTERVALS.1).contains(&interval) {
        return Err(Failure::usage("--interval is from 100ms to 10m"));
    }
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if !args.batch && !terminal {
        return Err(Failure::usage("this is no terminal; add --batch, or use `nyala stats`"));
    }
    block_on(async {
        let cluster = args.cluster.find()?;
        cluster.map().await?;
        let name = cluster.mgmt.first().map_or_else(String::new, ToString::to_string);
        // Names are for operators alone: as which this asks, if it can.
        let busy = BusyAsker::new(cluster.handshake());
        let mut looks = Looks::first(Sampler::new(cluster.mgmt, cluster.secret, cluster.encrypt), busy).await;
        let (tab, count) = (Tab::from(args.table), args.count.unwrap_or(u64::MAX));
        if !args.batch {
            nyala_top::run(looks, &name, tab, interval, count).await.map_err(io("the terminal fails"))?;
            return Ok(Exit::Ok);
        }
        for _ in 0..count {
            tokio::time::sleep(interval).await;
            print(&(nyala_top::print(looks.next(tab).await, tab, &name) + "\n"))?;
        }
        Ok(Exit::Ok)
    })
}
