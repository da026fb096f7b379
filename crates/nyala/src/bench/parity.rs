// SPDX-License-Identifier: Apache-2.0

//! `nyala bench parity`: what erasure coding and RAID 6 cost, on a cluster of its own.

use super::host;
use super::phases::Phases;
use crate::exit::{Failure, Outcome};
use crate::output::{Output, show_document};
use crate::role::block_on;
use crate::units::Size;
use clap::Args;
use nyala_bench::parity::{PHASES, ParityCluster, compare, document, round};
use nyala_bench::plan::data::Sizes;
use nyala_bench::{Ended, Stop};
use std::path::PathBuf;

/// Bytes of a transfer.
const TRANSFER: usize = 1 << 20;

/// Flags.
#[derive(Clone, Debug, Args)]
pub struct ParityArgs {
    /// How often files are written and read in each placement, after a first time that does not count
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=99))]
    pub rounds: u16,
    /// Tasks that work at once, each on a file of its own
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub tasks: u16,
    /// Bytes of each file
    #[arg(long, default_value = "256m")]
    pub size: Size,
    /// A directory on the file system that is used: the cluster is made in it, and removed
    #[arg(long, default_value = "/var/tmp", value_name = "DIR")]
    pub work: PathBuf,
    /// The cluster's first port; the forty after it are used as well
    #[arg(long, default_value_t = 10_900, value_name = "PORT")]
    pub base_port: u16,
}

/// Measures, compares and prints.
pub fn run(args: &ParityArgs, output: Output) -> Outcome {
    if args.size.0 < TRANSFER as u64 {
        return Err(Failure::usage(format!("--size {} is less than one transfer; give at least 1m", args.size)));
    }
    let cluster = ParityCluster::start(&host::this(), &args.work, args.base_port)?;
    let (stop, ended) = (Stop::default(), Ended::default());
    let phases = Phases::new("bench parity", &ended, PHASES * (u64::from(args.rounds) + 1));
    let mut rounds = Vec::new();
    for number in 0..=args.rounds {
        let (tasks, bytes, seed) = (args.tasks.into(), args.size.0, number.into());
        let sizes = Sizes { tasks, bytes, transfer: TRANSFER, random: 0, seed };
        let costs = block_on(async {
            host::watch(&stop)?;
            phases.during(round(&cluster, sizes, &stop, &ended)).await
        })?;
        rounds.extend(Some(costs).filter(|_| number > 0));
    }
    let comparison = compare(&rounds);
    show_document(output, &comparison, document(&comparison))
}
